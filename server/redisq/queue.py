"""The queue as those see it who put jobs in, look at them, and mend them."""

from __future__ import annotations

import contextlib
import uuid
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from redis.asyncio.cluster import RedisCluster
from redis.exceptions import OutOfMemoryError as ServerOutOfMemoryError
from redis.exceptions import RedisError

from . import repeats
from .codec import Codec, JsonCodec
from .errors import NotConfirmedError, OutOfMemoryError, QueueFullError
from .model import Depth, Job, Purged, State
from .names import note_name
from .new_job import NAME, NewJob, arguments
from .scripts import Client, keys, script
from .stored import job_from

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .repeats import Repeat

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

    `client` is a redis.asyncio.Redis or RedisCluster without `decode_responses`. Its own retries do
    no harm: what is sent twice changes nothing the second time, unless a job that was enqueued has
    been done and forgotten in between (see `keep_s`). At most `max_waiting` jobs may wait.
    """

    def __init__(
        self,
        client: Client,
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
        self._noted = False

    async def enqueue(
        self,
        task: str,
        payload: Any = None,
        *,
        replicas: int = 0,
        confirm_s: float = 1.0,
        **how: Any,
    ) -> str:
        """Take one job and return its id; see NewJob for what may be said about it.

        Waits for replicas and raises as `enqueue_many` does.
        """
        job = NewJob(task=task, payload=payload, **how)
        ids = await self.enqueue_many([job], replicas=replicas, confirm_s=confirm_s)
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
        if ids and not self._noted:
            # Once for each object; the jobs are taken, whatever becomes of this.
            with contextlib.suppress(RedisError, OSError):
                await note_name(self.client, self.base)
                self._noted = True
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
        where = {}
        if isinstance(self.client, RedisCluster):
            # WAIT names no key by which a cluster's client would find the node.
            where["target_nodes"] = self.client.get_node_from_key(self.base)
        async with self.client.pipeline(transaction=False) as pipe:
            # Whole, since one that a pipeline names by its sum may be forgotten meanwhile.
            pipe.eval(enqueue.text, *keys(self.base), *values)
            # Jobs that were there already are no write of this connection, and WAIT would not wait.
            pipe.hincrby(f"{self.base}:meta", "confirms", 1)
            pipe.execute_command("WAIT", replicas, round(confirm_s * 1000), **where)
            answer, _, confirmed = await pipe.execute()
        return answer, int(confirmed)

    async def get(self, id_: str) -> Job | None:
        """Return the job as it is now, or None if there is none of that id."""
        flat, log, lease = await script("get").run(self.client, self.base, [id_])
        fields = dict(zip(flat[::2], flat[1::2], strict=True))
        ends = float(lease) if lease else None
        return job_from(id_, fields, log, ends, self.codec) if fields else None

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

    async def retry(self, *ids: str) -> dict[str, str]:
        """Let done or dead jobs run again, with all their attempts."""
        return await self.operate("retry", ids)

    async def promote(self, *ids: str) -> dict[str, str]:
        """Make scheduled jobs due now."""
        return await self.operate("promote", ids)

    async def cancel(self, *ids: str) -> dict[str, str]:
        """End jobs that wait; ask running ones to stop, by the next heartbeat."""
        return await self.operate("cancel", ids)

    async def delete(self, *ids: str) -> dict[str, str]:
        """Forget jobs that do not run."""
        return await self.operate("delete", ids)

    async def purge(  # noqa: PLR0913 - a filter's parts, and how far
        self,
        state: Literal["ready", "scheduled", "done", "dead"],
        *,
        task: str | None = None,
        reason: str | None = None,
        older_s: float | None = None,
        cursor: int = 0,
        look: int = 1000,
    ) -> Purged:
        """Forget jobs in that state, after a look at about `look` of them; call again to go on.

        Those of that `task`, dead for that `reason`, and that ended (or were enqueued, if they have
        not ended) `older_s` seconds ago or earlier. From `cursor` 0 to None, everything that was
        there at the beginning is looked at. Raises ValueError for a state that is none of these.
        """
        if state not in {"ready", "scheduled", "done", "dead"}:
            raise ValueError(f"jobs that are {state} cannot be purged")
        age = "" if older_s is None else round(older_s * 1000)
        values = [uuid.uuid4().hex, state, cursor, look, task or "", reason or "", age]
        after, looked, gone = await script("purge").run(self.client, self.base, values)
        return Purged(gone, looked, int(after) or None)

    async def repeat(  # noqa: PLR0913 - what, how, and when
        self,
        name: str,
        task: str,
        payload: Any = None,
        *,
        every: float | None = None,
        cron: str | None = None,
        timezone: str | None = None,
        **how: Any,
    ) -> None:
        """Let a job come again and again: `every` so many seconds, or by a `cron` line.

        See cron.py for the line, whose times are those of a `timezone` such as Europe/Berlin, or of
        UTC. `how` may say `priority`, `max_attempts`, `timeout_s` and `keep_s`, as in NewJob.

        At most one of a series waits or runs at a time: what falls due meanwhile is skipped, and
        what fell due while no worker ran is one run. Called again with the same, it changes
        nothing; with something else, it changes the series, and an occurrence that waits is
        replaced. For one more run now, enqueue a job whose `unique` is `repeat:` and the name.

        Raises InvalidJobError, TooManyRepeatsError, OutOfMemoryError, and
        redis.exceptions.RedisError when the server is away.
        """
        if odd := how.keys() - {"priority", "max_attempts", "timeout_s", "keep_s"}:
            raise TypeError(f"a series has no {', '.join(sorted(odd))}")
        job = NewJob(task=task, payload=payload, **how)
        await repeats.define(
            self.client,
            self.base,
            name,
            job,
            self.codec,
            every=every,
            cron=cron,
            timezone=timezone,
        )

    async def repeats(self) -> list[Repeat]:
        """Return all series, the next one that is due first. There are a thousand at most."""
        return await repeats.listed(self.client, self.base, self.codec)

    async def remove_repeat(self, name: str) -> bool:
        """End a series, and forget the occurrence that waits; tell whether there was such a one."""
        return await repeats.end(self.client, self.base, name)

    async def pause(self) -> None:
        """Let nothing more be claimed; what runs goes on. Works when memory is full."""
        await self._set(["paused", 1])

    async def resume(self) -> None:
        """Undo `pause`."""
        await self._set(["paused", ""])

    async def configure(self, settings: Mapping[Setting, int | None]) -> None:
        """Change how the queue works while it works; None takes a setting back to its default.

        `concurrency` jobs run at most, on all workers together. `rate_count` jobs start in
        `rate_ms`, evenly; after a rest, as many at once. Works when memory is full. Raises
        ValueError for what is no setting, for a number below 1, and for one of the two without the
        other.
        """
        for name, value in settings.items():
            if name not in get_args(Setting):
                raise ValueError(f"not a setting: {name!r}")
            if value is not None and value < 1:
                raise ValueError(f"{name} must be 1 or more, not {value}")
        if (settings.get("rate_count") is None) != (settings.get("rate_ms") is None):
            raise ValueError("rate_count and rate_ms belong together")
        pairs = ((name, "" if value is None else value) for name, value in settings.items())
        await self._set([part for pair in pairs for part in pair])

    async def _set(self, pairs: Sequence[str | int]) -> None:
        await script("settings").run(self.client, self.base, pairs)

    async def depth(self) -> Depth:
        """Count what is where, without looking at any job but the next."""
        *counts, waits, paused = await script("depth").run(self.client, self.base, [])
        ready, scheduled, active, done, dead = counts
        return Depth(
            ready, scheduled, active, done, dead, None if waits < 0 else waits, bool(paused)
        )
