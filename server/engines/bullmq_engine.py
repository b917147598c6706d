"""BullMQ's package for Python behind the port. Imported only where the settings choose it.

What BullMQ lacks is made up for here as far as its own scripts allow: pauses after failures are
ours, a task that a worker does not know waits for one that does, a run has a time limit. What
stays different: docs/decisions/queue-engines.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
import socket
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from functools import partial
from typing import Any

import bullmq
from redis.exceptions import OutOfMemoryError as ServerOutOfMemoryError
from redis.exceptions import RedisError

from server.engines.port import Ended, EngineAwayError, EngineWorker, JobView
from server.redis_server import new_client, redis_client
from server.redisq import (
    Backoff,
    InvalidJobError,
    JsonCodec,
    NewJob,
    OutOfMemoryError,
    PermanentError,
    Snooze,
    Tasks,
)
from server.redisq.model import State
from server.redisq.new_job import arguments, new_id
from server.redisq.threads import in_thread

log = logging.getLogger(__name__)

PREFIX = "bull"
BLOCK_S = 10.0
"""For so long its worker waits for a job in one command, at most."""

GRACE_S = 20.0
TIMEOUT_S = NewJob(task="any").timeout_s
UNKNOWN_S = 600.0
"""For so long a task that no worker knows waits for one that does."""

LOOK_AGAIN_S = 1.0
LOWEST_PRIORITY = 1001
"""BullMQ's smallest number runs first, and without one a job would run before all others."""

KEEP: Mapping[str, Mapping[str, int]] = {
    "removeOnComplete": {"age": 86_400, "count": 10_000},
    "removeOnFail": {"age": 90 * 86_400, "count": 100_000},
}
STATES: Mapping[str, State] = {
    "waiting": "ready",
    "paused": "ready",
    "prioritized": "ready",
    "delayed": "scheduled",
    "active": "active",
    "completed": "done",
    "failed": "dead",
}
LISTS: Mapping[Ended, str] = {"done": "completed", "dead": "failed"}
_PLAIN = NewJob(task="any")
_UNUSED = ("at", "keep_s", "timeout_s", "unique")
_REASONS = ("refused", "no-handler")


class BullmqEngine:
    """A queue of BullMQ. See Engine for what the methods promise."""

    def __init__(self, queue: bullmq.Queue) -> None:
        self.queue = queue

    async def enqueue(self, job: NewJob) -> str:
        """See Engine. Raises InvalidJobError also for what BullMQ has no word for."""
        arguments(job, JsonCodec())
        for field in _UNUSED:
            if getattr(job, field) != getattr(_PLAIN, field):
                raise InvalidJobError(field, "not with BullMQ")
        options = {
            # Its own ids are numbers, and come again after its server was emptied.
            "jobId": (job.id or new_id()).replace(":", "."),
            "delay": round(job.delay_s * 1000),
            "priority": LOWEST_PRIORITY - job.priority,
            "attempts": job.max_attempts,
            "backoff": {"type": "ours"},
            **KEEP,
        }
        with _reaching():
            added = await self.queue.add(job.task, job.payload, options)
        return str(added.id)

    async def get(self, id_: str) -> JobView | None:
        """See Engine."""
        with _reaching():
            # In this order, so that a job that is shown as done has its result.
            state = STATES.get(await self.queue.getJobState(id_))
            job = await self.queue.getJob(id_)
        return None if job is None or state is None else _view(job, state)

    async def depth(self) -> Mapping[State, int]:
        """See Engine."""
        with _reaching():
            counts = await self.queue.getJobCounts(*STATES)
        depth: dict[State, int] = dict.fromkeys(STATES.values(), 0)
        for name, state in STATES.items():
            depth[state] += counts.get(name, 0)
        return depth

    async def ended(self, state: Ended, count: int) -> list[JobView]:
        """See Engine."""
        with _reaching():
            jobs = await self.queue.getJobs([LISTS[state]], 0, count - 1, False)  # noqa: FBT003 - its fourth parameter says "ascending"
        return [_view(job, state) for job in jobs]

    async def retry(self, id_: str) -> bool:
        """See Engine."""
        with _reaching():
            job = await self.queue.getJob(id_)
            if job is None or await self.queue.getJobState(id_) != LISTS["dead"]:
                return False
            await job.retry(LISTS["dead"], {"resetAttemptsMade": True})
        return True


class BullmqWorker:
    """A worker of BullMQ that runs our tasks. See EngineWorker."""

    def __init__(self, client: Any, name: str, tasks: Tasks, *, concurrency: int) -> None:
        self.id = f"{socket.gethostname()[:40]}-{os.getpid()}-{new_id()[-8:]}"
        self.counts = {"done": 0, "failed": 0}
        self._tasks = tasks
        self._stopping = asyncio.Event()
        self._leaving = asyncio.Event()
        backoff = Backoff()

        def pause(attempts: int, _kind: str, _error: object, _job: object) -> int:
            return backoff.delay_ms(attempts, random.random())  # noqa: S311 - chance, no secret

        self._worker = bullmq.Worker(
            name,
            self._process,
            {
                "connection": client,
                "prefix": PREFIX,
                "concurrency": concurrency,
                "autorun": False,
                "runRetryDelay": 1000,
                "maxStalledCount": 2,
                "settings": {"backoffStrategy": pause},
            },
        )
        self._worker.on("completed", lambda *_: self._count("done"))
        self._worker.on("failed", lambda *_: self._count("failed"))
        self._worker.on("error", _tell)

    async def run(self) -> None:
        """See EngineWorker. What does not end within 20 s is left to BullMQ's check for stalled."""
        working = asyncio.create_task(self._worker.run())
        told = asyncio.create_task(self._stopping.wait())
        leave = asyncio.create_task(self._leaving.wait())
        try:
            await asyncio.wait((working, told), return_when=asyncio.FIRST_COMPLETED)
            closing = asyncio.create_task(self._worker.close())
            await asyncio.wait(
                (closing, leave), timeout=GRACE_S, return_when=asyncio.FIRST_COMPLETED
            )
            if not closing.done():
                await self._worker.close(force=True)
            # Forced, it cancels its jobs and then itself.
            for how in await asyncio.gather(closing, working, return_exceptions=True):
                if isinstance(how, Exception):
                    raise how
        finally:
            for task in (working, told, leave):
                task.cancel()
            await asyncio.gather(working, told, leave, return_exceptions=True)

    def stop(self) -> None:
        """See EngineWorker."""
        (self._leaving if self._stopping.is_set() else self._stopping).set()

    def _count(self, what: str) -> None:
        self.counts[what] += 1

    async def _process(self, job: bullmq.Job, token: str) -> Any:
        if job.name not in list(self._tasks):
            await self._leave_to_others(job, token)
        try:
            async with asyncio.timeout(TIMEOUT_S):
                return await self._call(job)
        except PermanentError as error:
            raise bullmq.UnrecoverableError(f"refused: {error}") from error
        except Snooze as snooze:
            await _put_off(job, token, snooze.after_s)

    async def _call(self, job: bullmq.Job) -> Any:
        handler = self._tasks[job.name]
        if self._tasks.is_async(job.name):
            return await handler(_Running(job))
        loop = asyncio.get_running_loop()
        return await in_thread(partial(handler, _FromThread(job, loop)))

    async def _leave_to_others(self, job: bullmq.Job, token: str) -> None:
        """Raises what ends this run without an attempt, or for good after UNKNOWN_S."""
        if time.time() - job.timestamp / 1000 > UNKNOWN_S:
            raise bullmq.UnrecoverableError(f"no-handler: no worker knows {job.name}")
        await _put_off(job, token, LOOK_AGAIN_S)


class _Running:
    """A job of BullMQ in the hands of a coroutine. See TaskJob."""

    def __init__(self, job: bullmq.Job) -> None:
        self._job = job
        self.id = str(job.id)
        self.task = str(job.name)
        self.attempt = int(job.attemptsMade) + int(job.stalledCounter) + 1
        self.payload = job.data

    async def progress(self, share: float) -> None:
        """See TaskJob."""
        if not 0 <= share <= 1:
            raise ValueError(f"progress is from 0 to 1, not {share}")
        await self._job.updateProgress(share)


class _FromThread(_Running):
    """The same for a plain function in a thread."""

    def __init__(self, job: bullmq.Job, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(job)
        self._loop = loop

    def progress(self, share: float) -> None:  # type: ignore[override] # waits where the other awaits
        """See TaskJob."""
        asyncio.run_coroutine_threadsafe(super().progress(share), self._loop).result()


@contextlib.asynccontextmanager
async def bullmq_engine(url: str, name: str) -> AsyncIterator[BullmqEngine]:
    """Lends a queue over connections of its own, which need not be there yet."""
    async with new_client(url, text=True) as client:
        yield BullmqEngine(bullmq.Queue(name, {"connection": client, "prefix": PREFIX}))


@contextlib.asynccontextmanager
async def bullmq_worker(
    url: str, name: str, tasks: Tasks, *, concurrency: int
) -> AsyncIterator[EngineWorker]:
    """Lends a worker. Raises RedisServerError if the server cannot be reached."""
    async with redis_client(url):
        pass
    async with new_client(url, block_s=BLOCK_S, text=True) as client:
        yield BullmqWorker(client, name, tasks, concurrency=concurrency)


async def _put_off(job: bullmq.Job, token: str, after_s: float) -> None:
    """Lets the job wait without an attempt. Raises DelayedError, by which its worker knows."""
    await job.moveToDelayed(round((time.time() + after_s) * 1000), token)
    raise bullmq.DelayedError


@contextlib.contextmanager
def _reaching() -> Iterator[None]:
    try:
        yield
    except ServerOutOfMemoryError as error:
        raise OutOfMemoryError from error
    except (RedisError, OSError) as error:
        raise EngineAwayError(f"the Redis server does not answer: {error}") from error


def _view(job: bullmq.Job, state: State) -> JobView:
    failed = str(job.failedReason) if job.failedReason else None
    return JobView(
        id=str(job.id),
        task=str(job.name),
        state=state,
        payload=job.data,
        attempts=max(0, int(job.attemptsMade) - (state == "done")),
        max_attempts=int(job.opts.get("attempts", 1)),
        progress=float(job.progress) if isinstance(job.progress, int | float) else None,
        result=job.returnvalue,
        error=(job.stacktrace[-1] if job.stacktrace else failed) if failed else None,
        reason=_reason(failed or "") if state == "dead" else None,
        queued_ms=int(job.timestamp),
        claimed_ms=int(job.processedOn) or None,
        ended_ms=int(job.finishedOn) or None,
    )


def _reason(failed: str) -> str:
    word = failed.partition(":")[0]
    if word in _REASONS:
        return word
    return "lost" if "stalled" in failed else "exhausted"


def _tell(error: BaseException, *_: object) -> None:
    log.warning("BullMQ: %s", error, extra={"action": "queue-engine"})
