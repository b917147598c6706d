"""Runs a queue worker in this process."""

from __future__ import annotations

import asyncio

from server.composition import new_turn
from server.database import bring_up_to_date, open_pool
from server.meter import Meter
from server.outbox import DrainReport, Tally, Worker, drain, listen
from server.settings import Settings
from server.signals import closed_stdin, stop_on_signal


async def work(settings: Settings, conninfo: str, *, until_stdin_closes: bool = False) -> Tally:
    """Works until SIGINT or SIGTERM (or until stdin closes), finishes what it has started, ends."""
    await bring_up_to_date(conninfo)
    wake = asyncio.Event()
    meter = Meter()
    async with stop_on_signal() as stop, open_pool(conninfo) as pool:
        turn = new_turn(pool, settings, meter)
        worker = Worker(turn, wake=wake, retention=settings.retention())
        beside = [
            asyncio.create_task(listen(conninfo, wake)),
            asyncio.create_task(meter.watch_loop()),
            asyncio.create_task(meter.keep(pool, worker.done, every_s=turn.policy.poll_s)),
        ]
        if until_stdin_closes:
            beside.append(asyncio.create_task(closed_stdin(stop)))
        try:
            with meter.timing_statements():
                return await worker.run(stop)
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
            meter.tally(worker.done)
            await meter.save(pool)


async def drain_once(settings: Settings, conninfo: str, *, max_s: float | None) -> DrainReport:
    """Delivers what is due and ends; SIGINT and SIGTERM end it like time that runs out."""
    await bring_up_to_date(conninfo)
    async with stop_on_signal() as stop:
        return await drain_until(settings, conninfo, stop, max_s=max_s)


async def drain_until(
    settings: Settings, conninfo: str, stop: asyncio.Event, *, max_s: float | None
) -> DrainReport:
    """Delivers what is due over connections of its own, until `stop` is set at the latest."""
    meter = Meter()
    async with open_pool(conninfo) as pool:
        with meter.timing_statements():
            turn = new_turn(pool, settings, meter)
            report = await drain(turn, stop, max_s=max_s, retention=settings.retention())
        meter.tally(report.done)
        await meter.save(pool)
    return report
