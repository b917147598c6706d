"""The queue as those see it who put jobs in, look at them, and mend them."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from redis.exceptions import OutOfMemoryError as ServerOutOfMemoryError

from .codec import Codec, JsonCodec
from .errors import NotConfirmedError, OutOfMemoryError, QueueFullError
from .model import STATES, Depth, Job, State
from .new_job import NAME, NewJob, arguments
from .scripts import script
from .stored import job_from

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from redis.asyncio import Redis
    from redis.asyncio.client import Pipeline

MOST_AT_ONCE = 500
"""Jobs that one script takes; more are taken in parts."""

Setting = Literal[
    "concurrency",
    "rate_count",
    "rate_ms",
    "boost_ms",
    "keep_done_ms",
    "keep_dead_ms",
    "keep_done",
    "keep_dead",
    "keep_bytes",
    "max_lost",
]
Operation = Literal["retry", "promote", "cancel", "delete"]


class Queue:
    """A queue of that name on a server.

    `client` is a redis.asyncio.Redis without `decode_responses`. Its own retries do no harm: what
    is sent twice changes nothing the second time, unless a job that was enqueued has been done and
    forgotten in between (see `keep_s`). At most `max_waiting` jobs may wait.
    """

    def __init__(
        self,
        client: Redis,
        name: str,
        *,
        prefix: str = "jq",
        codec: Codec | None = None,
        max_waiting: int = 1_000_000,
    ) -> None:
        if not NAME.fullmatch(name):
            raise ValueError(f"not a name for a queue: {name!r}")
        self.client = client
        self.name = name
        self.codec: Codec = codec or JsonCodec()
        self.max_waiting = max_waiting
        self.base = f"{prefix}:{{{name}}}"

    async def enqueue(self, task: str, payload: Any = None, **how: Any) -> str:
        """Take one job and return its id; see NewJob for what may be said about it.

        Raises as `enqueue_many` does.
        """
        ids = await self.enqueue_many([NewJob(task=task, payload=payload, **how)])
        return ids[0]

    async def enqueue_many(
        self, jobs: Sequence[NewJob], *, replicas: int = 0, confirm_s: float = 1.0
    ) -> list[str]:
        """Take jobs and return the id of each: of the one that was there before, if there was one.

        Up to 500 are taken together or not at all; more go in parts of 500. With `replicas`, wait
        until so many have them.

        Raises InvalidJobError before anything is sent, QueueFullError, OutOfMemoryError,
        NotConfirmedError when the jobs were taken and fewer replicas have said so within
        `confirm_s`, and redis.exceptions.RedisError when the server is away: trying again with the
        same ids is safe.
        """
        written = [arguments(job, self.codec) for job in jobs]
        ids: list[str] = []
        for start in range(0, len(written), MOST_AT_ONCE):
            ids += await self._take(written[start : start + MOST_AT_ONCE], replicas, confirm_s)
        return ids

    async def _take(self, part: list[list[Any]], replicas: int, confirm_s: float) -> list[str]:
        values = [self.max_waiting, len(part), *(value for job in part for value in job)]
        try:
            if replicas:
                answer, confirmed = await self._take_and_wait(values, replicas, confirm_s)
            else:
                answer, confirmed = await script("enqueue").run(self.client, self.base, values), 0
        except ServerOutOfMemoryError as error:
            raise OutOfMemoryError from error
        if answer[0] == b"full":
            raise QueueFullError(answer[1], self.max_waiting)
        ids = [id_.decode() for id_ in answer[1]]
        if confirmed < replicas:
            raise NotConfirmedError(ids, confirmed, replicas)
        return ids

    async def _take_and_wait(
        self, values: list[Any], replicas: int, confirm_s: float
    ) -> tuple[Any, int]:
        """WAIT speaks of what its own connection wrote, so both go through one."""
        enqueue = script("enqueue")
        async with self.client.pipeline(transaction=False) as pipe:
            # Whole, since one that a pipeline names by its sum may be forgotten meanwhile.
            pipe.eval(enqueue.text, 1, self.base, *values)
            # Jobs that were there already are no write of this connection, and WAIT would not wait.
            pipe.hincrby(f"{self.base}:meta", "confirms", 1)
            pipe.execute_command("WAIT", replicas, round(confirm_s * 1000))
            answer, _, confirmed = await pipe.execute()
        return answer, int(confirmed)

    async def get(self, id_: str) -> Job | None:
        """Return the job as it is now, or None if there is none of that id."""
        async with self.client.pipeline(transaction=True) as pipe:
            pipe.hgetall(f"{self.base}:job:{id_}")
            pipe.lrange(f"{self.base}:log:{id_}", 0, -1)
            pipe.zscore(f"{self.base}:active", id_)
            fields, log, lease = await pipe.execute()
        return job_from(id_, fields, log, lease, self.codec) if fields else None

    async def ids(self, state: State, *, start: int = 0, count: int = 100) -> list[str]:
        """Return a page of ids, in the order in which they run or will be forgotten."""
        page = await self.client.zrange(f"{self.base}:{state}", start, start + count - 1)
        return [cast("bytes", id_).decode() for id_ in page]

    async def operate(self, what: Operation, ids: Sequence[str]) -> dict[str, str]:
        """Do to each job what operate.lua says, and return how it went by id: `ok`, or why not."""
        answers: dict[str, str] = {}
        for start in range(0, len(ids), MOST_AT_ONCE):
            part = list(ids[start : start + MOST_AT_ONCE])
            said = await script("operate").run(
                self.client, self.base, [what, uuid.uuid4().hex, *part]
            )
            answers |= {id_: word.decode() for id_, word in zip(part, said, strict=True)}
        return answers

    async def pause(self) -> None:
        """Let nothing more be claimed; what runs goes on."""
        await self.client.hset(f"{self.base}:meta", "paused", "1")

    async def resume(self) -> None:
        """Undo `pause`."""
        async with self.client.pipeline(transaction=True) as pipe:
            pipe.hdel(f"{self.base}:meta", "paused")
            self._wake(pipe)
            await pipe.execute()

    async def configure(self, settings: Mapping[Setting, int | None]) -> None:
        """Change how the queue works while it works; None takes a setting back to its default.

        `concurrency` jobs run at most, on all workers together. `rate_count` jobs start in
        `rate_ms`, evenly; after a rest, as many at once. Raises ValueError for what is no setting,
        for a number below 1, and for one of the two without the other.
        """
        for name, value in settings.items():
            if name not in get_args(Setting):
                raise ValueError(f"not a setting: {name!r}")
            if value is not None and value < 1:
                raise ValueError(f"{name} must be 1 or more, not {value}")
        if (settings.get("rate_count") is None) != (settings.get("rate_ms") is None):
            raise ValueError("rate_count and rate_ms belong together")
        async with self.client.pipeline(transaction=True) as pipe:
            for name, value in settings.items():
                if value is None:
                    pipe.hdel(f"{self.base}:meta", name)
                else:
                    pipe.hset(f"{self.base}:meta", name, value)
            self._wake(pipe)
            await pipe.execute()

    def _wake(self, pipe: Pipeline) -> None:
        """Wake one worker; tokens that nobody takes do not add up."""
        pipe.rpush(f"{self.base}:wake", 1)
        pipe.ltrim(f"{self.base}:wake", 0, 0)

    async def depth(self) -> Depth:
        """Count what is where, without looking at any job."""
        async with self.client.pipeline(transaction=True) as pipe:
            for state in STATES:
                pipe.zcard(f"{self.base}:{state}")
            pipe.hget(f"{self.base}:meta", "paused")
            pipe.zrange(f"{self.base}:ready", 0, 0)
            pipe.time()
            *counts, paused, first, clock = await pipe.execute()
        waits = None
        if first:
            due = await self.client.hget(f"{self.base}:job:{first[0].decode()}", "due_ms")
            waits = max(0, clock[0] * 1000 + clock[1] // 1000 - round(float(due))) if due else None
        ready, scheduled, active, done, dead = counts
        return Depth(ready, scheduled, active, done, dead, waits, paused is not None)
