"""Runs a queue worker in this process."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator

from server.composition import new_turn
from server.database import bring_up_to_date, open_pool
from server.meter import Meter
from server.outbox import DrainReport, Tally, Turn, Worker, drain, keeping_leases, listen
from server.settings import Settings
from server.signals import closed_stdin, stop_on_signal

log = logging.getLogger(__name__)


async def work(settings: Settings, conninfo: str, *, until_stdin_closes: bool = False) -> Tally:
    """Works until SIGINT or SIGTERM (or until stdin closes), finishes what it has started, ends.

    A second signal does not wait for sends that are under way: they are left to their leases.
    """
    await bring_up_to_date(conninfo)
    wake = asyncio.Event()
    meter = Meter()
    async with _turning(settings, conninfo, meter) as turn, stop_on_signal(turn.leave) as stop:
        worker = Worker(turn, wake=wake, retention=settings.retention())
        beside = [
            asyncio.create_task(_hear(settings.listen_conninfo(conninfo), wake)),
            asyncio.create_task(meter.watch_loop()),
            asyncio.create_task(meter.keep(turn.connect, worker.done, every_s=turn.policy.poll_s)),
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
            await meter.save(turn.connect)


async def _hear(conninfo: str | None, wake: asyncio.Event) -> None:
    if conninfo is None:
        log.info("not listening, only polling", extra={"action": "listen-off"})
    else:
        await listen(conninfo, wake)


async def drain_once(settings: Settings, conninfo: str, *, max_s: float | None) -> DrainReport:
    """Delivers what is due and ends; SIGINT and SIGTERM end it like time that runs out.

    A second signal does not wait for sends that are under way.
    """
    await bring_up_to_date(conninfo)
    meter = Meter()
    async with _turning(settings, conninfo, meter) as turn, stop_on_signal(turn.leave) as stop:
        return await _drain(turn, stop, meter, settings, max_s)


async def drain_until(
    settings: Settings, conninfo: str, stop: asyncio.Event, *, max_s: float | None
) -> DrainReport:
    """Delivers what is due over connections of its own, until `stop` is set at the latest."""
    meter = Meter()
    async with _turning(settings, conninfo, meter) as turn:
        return await _drain(turn, stop, meter, settings, max_s)


async def _drain(
    turn: Turn, stop: asyncio.Event, meter: Meter, settings: Settings, max_s: float | None
) -> DrainReport:
    with meter.timing_statements():
        report = await drain(turn, stop, max_s=max_s, retention=settings.retention())
    meter.tally(report.done)
    await meter.save(turn.connect)
    return report


@contextlib.asynccontextmanager
async def _turning(settings: Settings, conninfo: str, meter: Meter) -> AsyncIterator[Turn]:
    """Lends a turn whose leases are extended as long as it lives.

    It has connections of its own: what its channels do with theirs must not keep it from settling
    or handing back.
    """
    async with (
        open_pool(conninfo, most=4) as own,
        # Most channels need none.
        open_pool(conninfo, least=0) as for_channels,
    ):
        turn = new_turn(own, for_channels, settings, meter)
        async with keeping_leases(conninfo, turn):
            yield turn
