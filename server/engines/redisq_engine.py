"""Our own queue behind the port."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator, Mapping

from redis.exceptions import RedisError

from server.engines.port import Ended, EngineAwayError, EngineWorker, JobView
from server.redis_server import new_client, redis_client
from server.redisq import NewJob, Queue, Tasks, Worker, WorkerOptions
from server.redisq.model import Job, State


class RedisqEngine:
    """A queue of server/redisq. See Engine for what the methods promise."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue

    async def enqueue(self, job: NewJob) -> str:
        """See Engine."""
        with _reaching():
            [id_] = await self.queue.enqueue_many([job])
        return id_

    async def get(self, id_: str) -> JobView | None:
        """See Engine."""
        with _reaching():
            job = await self.queue.get(id_)
        return None if job is None else _view(job)

    async def depth(self) -> Mapping[State, int]:
        """See Engine."""
        with _reaching():
            depth = await self.queue.depth()
        return {
            "ready": depth.ready,
            "scheduled": depth.scheduled,
            "active": depth.active,
            "done": depth.done,
            "dead": depth.dead,
        }

    async def ended(self, state: Ended, count: int) -> list[JobView]:
        """See Engine. The order is that in which they will be forgotten, the last one first."""
        with _reaching():
            ids = await self.queue.ids(state, start=-count, count=count)
            jobs = [await self.queue.get(id_) for id_ in reversed(ids)]
        return [_view(job) for job in jobs if job is not None]

    async def retry(self, id_: str) -> bool:
        """See Engine."""
        with _reaching():
            job = await self.queue.get(id_)
            if job is None or job.state != "dead":
                return False
            answers = await self.queue.operate("retry", [id_])
        return answers[id_] == "ok"


@contextlib.asynccontextmanager
async def redisq_engine(url: str, name: str) -> AsyncIterator[RedisqEngine]:
    """Lends a queue over connections of its own, which need not be there yet."""
    async with new_client(url) as client:
        yield RedisqEngine(Queue(client, name))


@contextlib.asynccontextmanager
async def redisq_worker(
    url: str, name: str, tasks: Tasks, *, concurrency: int
) -> AsyncIterator[EngineWorker]:
    """Lends a worker. Raises RedisServerError if the server cannot be reached."""
    options = WorkerOptions(concurrency=concurrency)
    async with redis_client(url) as client, redis_client(url, block_s=options.poll_s) as waiting:
        yield Worker(client, waiting, Queue(client, name).base, tasks, options=options)


@contextlib.contextmanager
def _reaching() -> Iterator[None]:
    try:
        yield
    except (RedisError, OSError) as error:
        raise EngineAwayError(f"the Redis server does not answer: {error}") from error


def _view(job: Job) -> JobView:
    return JobView(
        id=job.id,
        task=job.task,
        state=job.state,
        payload=job.payload,
        attempts=job.attempts,
        max_attempts=job.max_attempts,
        progress=job.progress,
        result=job.result,
        error=job.error,
        reason=job.reason,
        queued_ms=job.queued_ms,
        claimed_ms=job.claimed_ms,
        ended_ms=job.ended_ms,
    )
