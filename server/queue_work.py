"""Runs a worker of the Redis queue in this process."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator

from server.database import open_pool
from server.engines import EngineWorker, open_engine, open_worker
from server.outbox import Connect
from server.settings import Settings
from server.signals import closed_stdin, stop_on_signal
from server.tasks import new_tasks

log = logging.getLogger(__name__)


async def work(settings: Settings, url: str, *, until_stdin_closes: bool = False) -> None:
    """Works until SIGINT or SIGTERM (or until stdin closes); finishes or gives back what runs.

    A second signal gives it back at once. Raises RedisServerError if there is no server, and
    SettingsError if the engine is not installed.
    """
    async with _connect(settings) as connect, open_engine(settings, url) as engine:
        tasks = new_tasks(settings, engine, connect)
        async with (
            open_worker(settings, url, tasks) as worker,
            stop_on_signal(worker.stop) as stop,
        ):
            about = {"queue": settings.queue_name, "worker": worker.id, "tasks": sorted(tasks)}
            log.info("working", extra={"action": "queue-work", **about})
            beside = [asyncio.create_task(_stop_when(stop, worker))]
            if until_stdin_closes:
                beside.append(asyncio.create_task(closed_stdin(stop)))
            try:
                await worker.run()
            finally:
                for task in beside:
                    task.cancel()
                await asyncio.gather(*beside, return_exceptions=True)
            log.info("worked", extra={"action": "queue-worked", **worker.counts})


@contextlib.asynccontextmanager
async def _connect(settings: Settings) -> AsyncIterator[Connect | None]:
    """Lends connections to the database, if one is set. It need not be there yet."""
    if settings.database_url is None:
        yield None
        return
    async with open_pool(settings.database_url, least=0) as pool:
        yield pool.connection


async def _stop_when(stop: asyncio.Event, worker: EngineWorker) -> None:
    await stop.wait()
    worker.stop()
