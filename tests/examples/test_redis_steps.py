"""The ladder of examples/redis-steps: each step has its hole, and the next one closes it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest
import redis
from redis.asyncio import Redis

from server.embedded_valkey import embedded_valkey
from server.redisq import Queue, RunningJob, Tasks, Worker, WorkerOptions

ROOT = Path(__file__).parent.parent.parent
STEPS = ROOT / "examples" / "redis-steps"
sys.path.insert(0, str(STEPS))

import step2  # noqa: E402 - found by the line above
import step3  # noqa: E402 - the same


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Valkey for this module."""
    with embedded_valkey(tmp_path_factory.mktemp("steps")) as where:
        yield where


@pytest.fixture
def server(url: str) -> Iterator[redis.Redis]:
    """An empty server, as the steps see it."""
    with redis.Redis.from_url(url, decode_responses=True) as client:
        client.flushall()
        yield client


@contextmanager
def running(url: str, step: str, *arguments: str, **environment: str) -> Iterator[Any]:
    """A step in a process of its own."""
    command = [sys.executable, str(STEPS / f"{step}.py"), *arguments]
    everything = {**os.environ, "REDIS_URL": url, "PYTHONPATH": str(ROOT), **environment}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=everything) as process:
        try:
            yield process
        finally:
            process.kill()


def put(url: str, step: str, payload: str) -> None:
    """Add a job as a reader would."""
    with running(url, step, "put", payload) as process:
        assert process.wait(60) == 0


def said(output: IO[str] | None, line: str) -> None:
    """Wait until a step has printed that."""
    assert output is not None
    while (printed := output.readline()) != f"{line}\n":
        assert printed, f"it ended without saying {line!r}"


def killed_in_the_middle(url: str, step: str, **environment: str) -> None:
    """Let a worker begin a job, and kill it there."""
    put(url, step, "hello")
    with running(url, step, "work", JOB_SECONDS="60", **environment) as worker:
        said(worker.stdout, "begin hello")
        worker.send_signal(signal.SIGKILL)
        worker.wait(60)


def test_step_1_a_killed_worker_takes_its_job_along(server: redis.Redis, url: str) -> None:
    """Nothing is left that could be tried again."""
    killed_in_the_middle(url, "step1")
    assert server.keys("*") == []


def test_step_2_brings_that_job_back(server: redis.Redis, url: str) -> None:
    """It is still in processing, with its age."""
    killed_in_the_middle(url, "step2")
    assert step2.recover(server, 0) == 1
    assert server.lrange(step2.JOBS, 0, -1) == ["hello"]


def test_step_2_strands_a_job_whose_move_was_not_answered(server: redis.Redis) -> None:
    """The server has moved it, the worker never knew, and without an age nobody brings it back."""

    class Unheard(redis.Redis):
        def hset(self, *_: Any, **__: Any) -> int:
            raise redis.ConnectionError

    step2.put(server, "hello")
    dying = Unheard(connection_pool=server.connection_pool)
    with pytest.raises(redis.ConnectionError):
        step2.take(dying)
    assert step2.recover(server, 0) == 0
    assert server.lrange(step2.PROCESSING, 0, -1) == ["hello"]


def test_step_2_takes_equal_payloads_for_one(server: redis.Redis) -> None:
    """One is done, the other's worker dies, and the age of both is gone."""
    for _ in range(2):
        step2.put(server, "hello")
        step2.take(server)
    step2.acknowledge(server, "hello")
    assert step2.recover(server, 0) == 0
    assert server.lrange(step2.PROCESSING, 0, -1) == ["hello"]


def test_step_3_a_timer_dies_with_its_process(server: redis.Redis, url: str) -> None:
    """The job has left the list and waits in a memory that is gone."""
    step3.put(server, "hello")
    server.lmove(step3.JOBS, step3.PROCESSING, "RIGHT", "LEFT")
    code = "import step3; from common import connect; step3.retry_by_timer(connect(), 'hello', 60)"
    environment = {**os.environ, "REDIS_URL": url}
    subprocess.run([sys.executable, "-c", code], cwd=STEPS, env=environment, check=True, timeout=60)
    assert server.keys("*") == []


def test_step_3_a_job_is_nowhere_between_two_commands(server: redis.Redis) -> None:
    """A promoter that dies there loses it."""

    def die() -> None:
        raise SystemExit

    step3.retry_later(server, "hello", 0)
    with pytest.raises(SystemExit):
        step3.promote(server, step3.due(server), die)
    assert server.keys("*") == []


def test_step_3_two_promoters_push_a_job_twice(server: redis.Redis) -> None:
    """Both have seen it before either removed it."""
    step3.retry_later(server, "hello", 0)
    one, other = step3.due(server), step3.due(server)
    step3.promote(server, one)
    step3.promote(server, other)
    assert server.lrange(step3.JOBS, 0, -1) == ["hello", "hello"]


def test_step_4_another_worker_gets_the_job_of_a_killed_one(server: redis.Redis, url: str) -> None:
    """As soon as the lease has run out."""
    killed_in_the_middle(url, "step4", LEASE_SECONDS="0.5")
    with running(url, "step4", "work", JOB_SECONDS="0") as second:
        said(second.stdout, "done hello")
    assert server.zcard("jq:{step4}:ready") == 0


def test_step_4_equal_payloads_are_two_jobs(server: redis.Redis, url: str) -> None:
    """An id tells them apart."""
    server.ping()
    put(url, "step4", "hello")
    put(url, "step4", "hello")
    with running(url, "step4", "work", JOB_SECONDS="0") as worker:
        said(worker.stdout, "done hello")
        said(worker.stdout, "done hello")


def test_step_4_a_failed_job_waits_in_redis_and_comes_back_once(
    server: redis.Redis, url: str
) -> None:
    """No timer holds it, and two workers do not bring it back twice."""
    server.ping()
    asyncio.run(_fail_once(url))


async def _fail_once(url: str) -> None:
    runs: list[int] = []
    begun, over = asyncio.Event(), asyncio.Event()
    tasks = Tasks()

    @tasks.task("flaky")
    async def flaky(job: RunningJob) -> None:
        runs.append(job.attempt)
        begun.set()
        if job.attempt == 1:
            raise RuntimeError("not yet")
        over.set()

    async with Redis.from_url(url) as client, Redis.from_url(url) as waiting:
        queue = Queue(client, "flaky")
        id_ = await queue.enqueue("flaky")
        first = Worker(client, waiting, queue.base, tasks)
        at_work = asyncio.create_task(first.run())
        await asyncio.wait_for(begun.wait(), 60)
        first.stop()
        await at_work
        assert (await queue.depth()).scheduled == 1
        await queue.operate("promote", [id_])
        both = [
            Worker(client, waiting, queue.base, tasks, options=WorkerOptions(poll_s=0.5))
            for _ in range(2)
        ]
        beside = [asyncio.create_task(worker.run()) for worker in both]
        await asyncio.wait_for(over.wait(), 60)
        for worker in both:
            worker.stop()
        await asyncio.gather(*beside)
        job = await queue.get(id_)
    assert runs == [1, 2]
    assert job is not None
    assert job.state == "done"
