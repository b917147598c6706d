"""Workers as processes: what signals do to them, and to their jobs."""

from __future__ import annotations

import asyncio
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from server.redisq import Queue
from tests.redisq.hand import Hand, ended, places
from tests.redisq.servers import Server
from tests.redisq.work import PATIENCE_S, seen, until

ROOT = Path(__file__).parents[2]
Start = Callable[..., Awaitable[Process]]


async def pop(queue: Queue, key: str) -> str:
    """Return the next word that a process has pushed there."""
    told = await queue.client.blpop([key], timeout=PATIENCE_S)
    assert told, f"nobody said {key}"
    return str(told[1].decode())


@pytest.fixture
async def start(queue: Queue, redis_server: Server) -> AsyncIterator[Start]:
    """Start a worker with these options, and return once it is about to work."""
    started: list[Process] = []

    async def start_one(*options: str) -> Process:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.redisq.program",
            redis_server.socket,
            queue.name,
            *options,
            cwd=ROOT,
        )
        started.append(process)
        await pop(queue, "up")
        return process

    yield start_one
    for process in started:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def gone(process: Process) -> int:
    """Return how the process ended."""
    return await asyncio.wait_for(process.wait(), PATIENCE_S)


async def test_sigterm_lets_what_runs_end(queue: Queue, start: Start) -> None:
    """And leaves what waits."""
    process = await start()
    first = await queue.enqueue("wait")
    assert await pop(queue, "started") == first
    process.send_signal(signal.SIGTERM)
    second = await queue.enqueue("unknown")
    await queue.client.rpush("go", "well")
    assert await gone(process) == 0
    job = await queue.get(first)
    assert job
    assert (job.state, job.result) == ("done", "well")
    # A worker may have looked at it before it was told to stop, and not known its task.
    last = await queue.get(second)
    assert last
    assert (last.state in {"ready", "scheduled"}, last.attempts, last.lost) == (True, 0, 0)


async def test_sigterm_gives_back_what_does_not_end(queue: Queue, start: Start) -> None:
    """Without an attempt burnt; another worker takes it at once."""
    process = await start("grace_s=0")
    id_ = await queue.enqueue("wait", max_attempts=1)
    await pop(queue, "started")
    process.send_signal(signal.SIGTERM)
    assert await gone(process) == 0
    job = await queue.get(id_)
    assert job
    assert (job.state, job.attempts, job.lost) == ("ready", 0, 0)
    await start()
    assert await pop(queue, "started") == id_
    await queue.client.rpush("go", "well")
    await seen(queue, id_, "done")


async def test_a_second_sigterm_ends_it_now(queue: Queue, start: Start) -> None:
    """Though the grace is long, and a thread hangs that nobody can stop."""
    process = await start("grace_s=3600")
    ids = [await queue.enqueue("wait"), await queue.enqueue("hang")]
    await pop(queue, "started")

    async def hanging() -> bool:
        job = await queue.get(ids[1])
        return job is not None and job.progress == 0.5

    await until(hanging)
    process.send_signal(signal.SIGTERM)
    # Two that come together may be one.
    await pop(queue, "told")
    process.send_signal(signal.SIGTERM)
    assert await gone(process) == 0
    assert await places(queue) == {"ready": ids}
    for id_ in ids:
        job = await queue.get(id_)
        assert job
        assert (job.attempts, job.lost) == (0, 0)


async def test_after_sigkill_another_worker_takes_over(queue: Queue, start: Start) -> None:
    """When the lease has run out; that the worker vanished is counted, and is no failure."""
    process = await start("lease_s=60")
    id_ = await queue.enqueue("wait", max_attempts=1)
    await pop(queue, "started")
    process.kill()
    await gone(process)
    # A minute has passed.
    await queue.client.zadd(f"{queue.base}:active", {id_: 1})
    await start("lease_s=60")
    assert await pop(queue, "started") == id_
    await queue.client.rpush("go", "well")
    job = await seen(queue, id_, "done")
    assert (job.result, job.lost, job.attempts) == ("well", 1, 0)


async def test_a_worker_that_was_stopped_too_long_has_no_say(
    queue: Queue, start: Start, other: Hand
) -> None:
    """Another has done its job; its own outcome comes late and counts for nothing."""
    process = await start("lease_s=3")
    id_ = await queue.enqueue("stubborn")
    await pop(queue, "started")
    process.send_signal(signal.SIGSTOP)
    # Its lease has run out, and the pause after that is over.
    await queue.client.zadd(f"{queue.base}:active", {id_: 1})
    await other.turn(want=0)
    await queue.promote(id_)
    claim = await other.claim()
    await other.turn(ended(claim, text=b'"other"'))
    process.send_signal(signal.SIGCONT)
    assert await pop(queue, "cancelled") == id_
    await queue.client.rpush("go", "late")

    async def refused() -> bool:
        return await queue.client.hget(f"{queue.base}:meta", "total_late") == b"1"

    await until(refused)
    job = await queue.get(id_)
    assert job
    assert (job.state, job.result, job.lost) == ("done", "other", 1)
    assert await queue.client.hget(f"{queue.base}:meta", "total_done") == b"1"
    process.send_signal(signal.SIGTERM)
    assert await gone(process) == 0
