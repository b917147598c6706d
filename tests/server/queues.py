"""A real Valkey for tests of what stands on it, and workers of the queue in the test's own loop."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

from server.engines import Engine, JobView, open_engine, open_worker
from server.redisq import Tasks
from server.settings import Settings

PATIENCE_S = 60.0
T = TypeVar("T")


async def until(look: Callable[[], Awaitable[T | None]]) -> T:
    """What `look` gives once it gives anything, asked for again and again."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            seen = await look()
            if seen:
                return seen
            await asyncio.sleep(0.02)


async def ended(engine: Engine, id_: str) -> JobView:
    """A job once it is done or dead."""

    async def look() -> JobView | None:
        job = await engine.get(id_)
        assert job is not None
        return job if job.state in {"done", "dead"} else None

    return await until(look)


@contextlib.asynccontextmanager
async def engine_of(settings: Settings) -> AsyncIterator[Engine]:
    """The engine of these settings."""
    assert settings.redis_url is not None
    async with open_engine(settings, settings.redis_url) as engine:
        yield engine


@contextlib.asynccontextmanager
async def at_work(settings: Settings, tasks: Tasks) -> AsyncIterator[None]:
    """A worker that works until the end, and ends in good order."""
    assert settings.redis_url is not None
    async with open_worker(settings, settings.redis_url, tasks) as worker:
        working = asyncio.create_task(worker.run())
        try:
            yield
        finally:
            worker.stop()
            async with asyncio.timeout(PATIENCE_S):
                await working
