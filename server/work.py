"""Runs a queue worker in this process."""

from __future__ import annotations

import asyncio

from server.composition import new_turn
from server.database import bring_up_to_date, open_pool
from server.outbox import DrainReport, Tally, Worker, drain, listen
from server.settings import Settings
from server.signals import closed_stdin, stop_on_signal


async def work(settings: Settings, conninfo: str, *, until_stdin_closes: bool = False) -> Tally:
    """Works until SIGINT or SIGTERM (or until stdin closes), finishes what it has started, ends."""
    await bring_up_to_date(conninfo)
    wake = asyncio.Event()
    async with stop_on_signal() as stop, open_pool(conninfo) as pool:
        worker = Worker(new_turn(pool, settings), wake=wake)
        beside = [asyncio.create_task(listen(conninfo, wake))]
        if until_stdin_closes:
            beside.append(asyncio.create_task(closed_stdin(stop)))
        try:
            return await worker.run(stop)
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)


async def drain_once(settings: Settings, conninfo: str, *, max_s: float | None) -> DrainReport:
    """Delivers what is due and ends; SIGINT and SIGTERM end it like time that runs out."""
    await bring_up_to_date(conninfo)
    async with stop_on_signal() as stop, open_pool(conninfo) as pool:
        return await drain(new_turn(pool, settings), stop, max_s=max_s)
