"""Measures one subject: a full queue that is emptied, a trickle, and adding one by one."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench.outbox_peers.measure import WrongDeliveryError
from bench.outbox_peers.subject import PATIENCE_S, Program, Subject

if TYPE_CHECKING:
    import psutil
    from redis.asyncio import Redis

POLL_S = 0.02
END_S = 30.0
"""For a program to say what it has seen, and to end, once it is told to."""
REST_S = 1.0


@dataclass(frozen=True)
class Drained:
    """What emptying a queue took, for each job. Times are microseconds of a processor."""

    rate: float
    """Jobs a second, from the first handler's call until nothing is left."""
    worker_us: float
    server_us: float
    commands: float
    """Those inside scripts count."""
    trips: float
    """How often the server read what a client had sent: a pipeline is one trip."""

    @property
    def per_cpu_s(self) -> float:
        """Jobs for each second that a processor worked, for the worker or for the server."""
        return 1e6 / (self.worker_us + self.server_us)


@dataclass(frozen=True)
class Used:
    """What the server has done so far."""

    cpu_s: float
    commands: int
    reads: int


class Server:
    """The Valkey that all subjects share; each measurement finds it empty."""

    def __init__(self, client: Redis, url: str, process: psutil.Process) -> None:
        self._client = client
        self._url = url
        self._process = process

    async def persist(self, *, aof: bool) -> None:
        """Writes an append-only file, once a second to the disk; or nothing."""
        await self._client.config_set("appendonly", "yes" if aof else "no")
        while (await self._client.info("persistence"))["aof_rewrite_in_progress"]:  # noqa: ASYNC110
            await asyncio.sleep(POLL_S)  # the server has no word for it

    async def drain(self, subject: Subject, *, jobs: int, concurrency: int) -> Drained:
        """Fills a queue, lets a worker empty it, and checks that each job was done once.

        Raises WrongDeliveryError and TimeoutError; the worker has ended then too.
        """
        await self._fill(subject, jobs)
        worker = await Program.start(subject, self._url, "work", concurrency=concurrency)
        try:
            return await self._drain(subject, worker, jobs)
        finally:
            worker.kill()

    async def _drain(self, subject: Subject, worker: Program, jobs: int) -> Drained:
        await worker.ready()
        # What one question costs is known before, and taken off afterwards.
        first = await self._used()
        await self._left(subject)
        before = await self._used()
        theirs = _cpu_s(worker.seen)
        worker.go()
        polls, ended_at = await self._emptied(subject)
        after = await self._used()
        theirs = _cpu_s(worker.seen) - theirs
        seen = await _seen(worker)
        _check(subject, [number for number, _ in seen], jobs)
        polling = polls * (before.commands - first.commands - 1)
        asked = polls + 1  # the reading of the counts is one too
        return Drained(
            rate=jobs / (ended_at - min(at for _, at in seen)),
            worker_us=1e6 * theirs / jobs,
            server_us=1e6 * (after.cpu_s - before.cpu_s) / jobs,
            commands=(after.commands - before.commands - polling - 1) / jobs,
            trips=(after.reads - before.reads - asked) / jobs,
        )

    async def pick_up(self, subject: Subject, *, jobs: int, rate: float) -> list[float]:
        """Seconds from the begin of each enqueueing to its handler, in a queue that is idle.

        Raises as `drain` does.
        """
        await self._client.flushall()
        worker = await Program.start(subject, self._url, "work", concurrency=32)
        try:
            return await self._pick_up(subject, worker, jobs, rate)
        finally:
            worker.kill()

    async def _pick_up(
        self, subject: Subject, worker: Program, jobs: int, rate: float
    ) -> list[float]:
        await worker.ready()
        worker.go()
        await asyncio.sleep(REST_S)  # the worker has no word for "asleep now"
        adding = await Program.start(subject, self._url, "trickle", count=jobs, rate=rate)
        begun = (await adding.end())["begun"]
        await self._emptied(subject)
        seen = await _seen(worker)
        _check(subject, [number for number, _ in seen], jobs)
        return [at - begun[number] for number, at in seen]

    async def enqueue(self, subject: Subject, *, jobs: int, act: str) -> float:
        """Jobs a second that a program adds by this act."""
        await self._client.flushall()
        adding = await Program.start(subject, self._url, act, count=jobs)
        return jobs / float((await adding.end())["seconds"])

    async def _fill(self, subject: Subject, jobs: int) -> None:
        await self._client.flushall()
        await (await Program.start(subject, self._url, "fill", count=jobs)).end()

    async def _left(self, subject: Subject) -> int:
        return int(await self._client.eval(subject.kind.left, 0))

    async def _emptied(self, subject: Subject) -> tuple[int, float]:
        """Waits until nothing is left; returns how often it asked, and when nothing was."""
        polls = 0
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            polls += 1
            if await self._left(subject) == 0:
                return polls, time.monotonic()
            await asyncio.sleep(POLL_S)
        raise WrongDeliveryError(f"{subject.name} does not get done")

    async def _used(self) -> Used:
        async with self._client.pipeline(transaction=False) as pipe:
            pipe.info("stats", "commandstats")
            [info] = await pipe.execute()
        calls = sum(
            counted["calls"]
            for name, counted in info.items()
            if name.startswith("cmdstat_") and isinstance(counted, dict)
        )
        return Used(_cpu_s(self._process), calls, info["total_reads_processed"])


async def _seen(worker: Program) -> list[Any]:
    """Lets a worker end, and returns what its handler was given, and when."""
    async with asyncio.timeout(END_S):
        return list((await worker.end())["seen"])


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


def _check(subject: Subject, seen: list[Any], jobs: int) -> None:
    if sorted(seen) != list(range(jobs)):
        twice = len(seen) - len(set(seen))
        lost = len(set(range(jobs)) - set(seen))
        raise WrongDeliveryError(f"{subject.name}: {lost} of {jobs} not done, {twice} done again")
