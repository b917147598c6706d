"""Workers in the test's own process."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import ConnectionError as ServerAwayError

from server.redisq import Codec, Job, Queue, Tasks, Worker, WorkerOptions
from tests.redisq.servers import Server

PATIENCE_S = 60.0


def make_worker(
    made: Server, queue: Queue, tasks: Tasks, *, codec: Codec | None = None, **options: Any
) -> Worker:
    """Return a worker that has its own two connections, with redis-py's usual settings."""
    client = Redis(unix_socket_path=made.socket)
    waiting = Redis(unix_socket_path=made.socket)
    how = WorkerOptions(**{"concurrency": 4, "poll_s": 0.5, "grace_s": PATIENCE_S} | options)
    return Worker(client, waiting, queue.base, tasks, options=how, codec=codec)


@contextlib.asynccontextmanager
async def at_work(worker: Worker) -> AsyncIterator[asyncio.Task[None]]:
    """Let it work, and in the end stop it and wait until everything is settled."""
    running = asyncio.create_task(worker.run())
    try:
        yield running
        worker.stop()
        await asyncio.wait_for(running, PATIENCE_S)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await worker._client.aclose()  # noqa: SLF001 - whoever makes them closes them
        await worker.turns._line._client.aclose()  # noqa: SLF001


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Return once that holds; the server tells of no such thing, so it is asked again and again."""
    deadline = time.monotonic() + PATIENCE_S
    while not await holds():
        assert time.monotonic() < deadline, "it does not come"
        await asyncio.sleep(0.005)


async def seen(queue: Queue, id_: str, *states: str) -> Job:
    """Return the job once it is in one of these states."""
    found: list[Job] = []

    async def there() -> bool:
        # A client learns late that its connection has ended with a server that was killed.
        with contextlib.suppress(ServerAwayError):
            job = await queue.get(id_)
            if job and job.state in states:
                found.append(job)
        return bool(found)

    await until(there)
    return found[0]


async def all_done(queue: Queue, count: int) -> None:
    """Return once that many jobs are done."""

    async def there() -> bool:
        return int(await queue.client.zcard(f"{queue.base}:done")) >= count

    await until(there)
