"""What becomes of a job by what its handler does."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from redis.asyncio import Redis

from server.redisq import (
    Backoff,
    FromThread,
    InvalidJobError,
    LeaseLostError,
    NewJob,
    PermanentError,
    Queue,
    RunningJob,
    Snooze,
    Tasks,
)
from tests.redisq.hand import Hand, elapse, places
from tests.redisq.servers import Server
from tests.redisq.work import all_done, at_work, make_worker, seen, until


@pytest.fixture
def tasks() -> Tasks:
    """The tasks of one test."""
    return Tasks()


async def test_jobs_are_run_once_and_their_results_kept(
    queue: Queue, redis_server: Server, tasks: Tasks
) -> None:
    """Never more at a time than the worker has hands."""
    ran: list[str] = []
    at_once: list[int] = [0, 0]

    @tasks.task("double")
    async def double(job: RunningJob) -> int:
        at_once[0] += 1
        at_once[1] = max(at_once)
        await asyncio.sleep(0)
        at_once[0] -= 1
        ran.append(job.id)
        return int(job.payload) * 2

    async with at_work(make_worker(redis_server, queue, tasks, concurrency=7)) as _:
        ids = await queue.enqueue_many([NewJob(task="double", payload=n) for n in range(60)])
        await all_done(queue, 60)
    assert sorted(ran) == sorted(ids)
    assert at_once == [0, 7]
    jobs = [await queue.get(id_) for id_ in ids]
    assert [job.result for job in jobs if job] == [2 * n for n in range(60)]


async def test_more_hands_than_one_turn_serves(
    queue: Queue, redis_server: Server, tasks: Tasks
) -> None:
    """Hundreds of outcomes go in several turns."""

    @tasks.task("nothing")
    async def nothing(_: RunningJob) -> None:
        await asyncio.sleep(0.01)

    await queue.enqueue_many([NewJob(task="nothing") for _ in range(700)])
    worker = make_worker(redis_server, queue, tasks, concurrency=300)
    async with at_work(worker):
        await all_done(queue, 700)
    assert worker.counts == {"done": 700, "failed": 0, "late": 0, "claimed": 700}


async def test_a_failure_is_tried_again(queue: Queue, redis_server: Server, tasks: Tasks) -> None:
    """After its pause, with the error told; the handler knows which attempt it is."""
    attempts = []

    @tasks.task("shaky")
    async def shaky(job: RunningJob) -> str:
        attempts.append(job.attempt)
        if len(attempts) < 3:
            raise KeyError(f"wobble {len(attempts)}")
        return "stood"

    id_ = await queue.enqueue("shaky")
    quick = make_worker(redis_server, queue, tasks, backoff=Backoff(base_ms=5))
    async with at_work(quick):
        job = await seen(queue, id_, "done")
    assert (attempts, job.attempts, job.result) == ([1, 2, 3], 2, "stood")
    told = [(what, detail.splitlines()[-1]) for _, what, detail in job.log]
    assert told == [("failed", "KeyError: 'wobble 1'"), ("failed", "KeyError: 'wobble 2'")]


@pytest.mark.parametrize(
    ("attempts", "luck", "pause"),
    [
        (1, 0, 2000),
        (2, 0, 4000),
        (2, 1, 4400),
        (4, 0.5, 16_800),
        (11, 0, 2_048_000),
        (12, 0, 3_600_000),
        (1000, 1, 3_960_000),
    ],
)
def test_pauses_double_up_to_an_hour(attempts: int, luck: float, pause: int) -> None:
    """And up to a tenth more, by luck."""
    assert Backoff().delay_ms(attempts, luck) == pause


async def test_a_job_that_takes_too_long_is_cancelled(
    queue: Queue, redis_server: Server, tasks: Tasks
) -> None:
    """And its error says so."""
    cancelled = asyncio.Event()

    @tasks.task("endless")
    async def endless(_: RunningJob) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    id_ = await queue.enqueue("endless", timeout_s=0.02, max_attempts=1)
    async with at_work(make_worker(redis_server, queue, tasks)):
        job = await seen(queue, id_, "dead")
    assert cancelled.is_set()
    assert job.reason == "exhausted"
    assert job.error
    assert "The job ran longer than its 0.02 s." in job.error


async def test_a_plain_function_runs_in_a_thread(
    queue: Queue, redis_server: Server, tasks: Tasks
) -> None:
    """And has of its job what a coroutine has."""
    names: list[str] = []

    @tasks.task("count")
    def count(job: FromThread) -> Any:
        names.append(threading.current_thread().name)
        job.progress(0.5)
        job.extend(900)
        return [job.payload, job.attempt, job.once("mail"), job.once("mail")]

    id_ = await queue.enqueue("count", {"a": 1})
    async with at_work(make_worker(redis_server, queue, tasks)):
        job = await seen(queue, id_, "done")
    assert job.result == [{"a": 1}, 1, True, False]
    assert job.progress == 0.5
    assert names == ["job"]


async def test_a_thread_that_hangs_holds_up_nobody(
    queue: Queue, redis_server: Server, tasks: Tasks
) -> None:
    """Python cannot stop it, but the next job has a thread of its own."""
    go_on = threading.Event()

    @tasks.task("hang")
    def hang(_: FromThread) -> None:
        go_on.wait(60)

    @tasks.task("next")
    def following(_: FromThread) -> str:
        return "ran"

    hanging = await queue.enqueue("hang", timeout_s=0.02, max_attempts=1)
    id_ = await queue.enqueue("next")
    async with at_work(make_worker(redis_server, queue, tasks, concurrency=1)):
        assert (await seen(queue, id_, "done")).result == "ran"
        assert (await seen(queue, hanging, "dead")).reason == "exhausted"
    go_on.set()


async def test_a_permanent_error_is_dead_at_once(
    queue: Queue, redis_server: Server, tasks: Tasks
) -> None:
    """With its words."""

    @tasks.task("refuse")
    async def refuse(_: RunningJob) -> None:
        raise PermanentError("no such address")

    id_ = await queue.enqueue("refuse")
    async with at_work(make_worker(redis_server, queue, tasks)):
        job = await seen(queue, id_, "dead")
    assert (job.reason, job.attempts) == ("refused", 1)
    assert job.error
    assert job.error.strip().endswith("no such address")


async def test_a_snoozed_job_comes_again_with_all_its_attempts(
    queue: Queue, redis_server: Server, tasks: Tasks
) -> None:
    """As often as it likes."""
    times = iter([Snooze(0.01), Snooze(0.0), Snooze(60)])

    @tasks.task("early")
    async def early(_: RunningJob) -> None:
        raise next(times)

    id_ = await queue.enqueue("early", max_attempts=1)
    async with at_work(make_worker(redis_server, queue, tasks)):

        async def asleep() -> bool:
            job = await queue.get(id_)
            return job is not None and job.due_ms > job.queued_ms + 50_000

        await until(asleep)
    job = await queue.get(id_)
    assert job
    assert (job.state, job.attempts) == ("scheduled", 0)


@pytest.mark.parametrize("after_s", [-1, float("nan"), float("inf")])
def test_a_snooze_has_a_sensible_span(after_s: float) -> None:
    """Refused where it is made, so that the traceback shows where."""
    with pytest.raises(ValueError, match="after_s"):
        Snooze(after_s)


@pytest.mark.parametrize(
    ("result", "word"),
    [
        (object(), "not JSON serializable"),
        (float("nan"), "not JSON compliant"),
        ("x" * 70_000, "70002 bytes"),
    ],
    ids=["object", "nan", "large"],
)
async def test_a_result_that_cannot_be_kept_is_said_so(
    queue: Queue, redis_server: Server, tasks: Tasks, result: Any, word: str
) -> None:
    """Running it again would not help, and do everything twice."""

    @tasks.task("odd")
    async def odd(_: RunningJob) -> Any:
        return result

    id_ = await queue.enqueue("odd")
    async with at_work(make_worker(redis_server, queue, tasks)):
        job = await seen(queue, id_, "dead")
    assert job.reason == "refused"
    assert job.error
    assert "the job is done, but its result" in job.error
    assert word in job.error


async def _await_cancelled() -> None:
    future = asyncio.get_running_loop().create_future()
    future.cancel()
    await future


async def _exit() -> None:
    raise SystemExit(3)


async def _long() -> None:
    raise ValueError("ä" * 5000)


@pytest.mark.parametrize("how", [_await_cancelled, _exit, _long], ids=lambda how: how.__name__)
async def test_whatever_a_coroutine_raises_is_a_failed_attempt(
    queue: Queue, redis_server: Server, tasks: Tasks, how: Any
) -> None:
    """And the worker goes on."""

    @tasks.task("odd")
    async def odd(_: RunningJob) -> None:
        await how()

    id_ = await queue.enqueue("odd", max_attempts=1)
    async with at_work(make_worker(redis_server, queue, tasks)):
        assert (await seen(queue, id_, "dead")).reason == "exhausted"


@pytest.mark.parametrize("error", [SystemExit(3), StopIteration()], ids=repr)
async def test_whatever_a_thread_raises_is_a_failed_attempt(
    queue: Queue, redis_server: Server, tasks: Tasks, error: BaseException
) -> None:
    """Even what a coroutine could not."""

    @tasks.task("odd")
    def odd(_: FromThread) -> None:
        raise error

    id_ = await queue.enqueue("odd", max_attempts=1)
    async with at_work(make_worker(redis_server, queue, tasks)):
        assert (await seen(queue, id_, "dead")).reason == "exhausted"


async def test_a_running_job_can_be_cancelled(
    queue: Queue, redis_server: Server, tasks: Tasks
) -> None:
    """Its handler is told, and may clean up."""
    started, cancelled = asyncio.Event(), asyncio.Event()

    @tasks.task("long")
    async def long(_: RunningJob) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise RuntimeError("cleaning up went wrong") from None

    id_ = await queue.enqueue("long")
    async with at_work(make_worker(redis_server, queue, tasks, lease_s=0.6)):
        await started.wait()
        assert await queue.operate("cancel", [id_]) == {id_: "asked"}
        job = await seen(queue, id_, "dead")
    assert cancelled.is_set()
    assert (job.reason, job.attempts) == ("cancelled", 0)


async def test_a_run_that_has_lost_its_lease_is_cancelled(
    queue: Queue, redis_server: Server, tasks: Tasks, other: Hand
) -> None:
    """It has nothing to say about the job any longer."""
    started, cancelled = asyncio.Event(), asyncio.Event()

    @tasks.task("long")
    async def long(job: RunningJob) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            with pytest.raises(LeaseLostError):
                await job.progress(0.5)
            cancelled.set()

    await queue.enqueue("long")
    worker = make_worker(redis_server, queue, tasks, lease_s=3)
    async with at_work(worker):
        await started.wait()
        await queue.pause()
        await elapse(queue, 4000)
        await other.turn(want=0)
        await cancelled.wait()
    assert worker.counts["late"] == 0
    assert list(await places(queue)) in (["ready"], ["scheduled"])


async def test_a_worker_may_get_a_job_again_whose_first_run_it_has_lost(
    queue: Queue, redis_server: Server, tasks: Tasks
) -> None:
    """The first is cancelled, the second counts."""
    runs: list[RunningJob] = []
    started, lost = asyncio.Event(), asyncio.Event()

    @tasks.task("long")
    async def long(job: RunningJob) -> str:
        runs.append(job)
        if len(runs) == 2:
            await lost.wait()
            return "second"
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            lost.set()
        return "first"

    id_ = await queue.enqueue("long")
    async with at_work(make_worker(redis_server, queue, tasks, lease_s=3, poll_s=0.1)):
        await started.wait()
        await elapse(queue, 4000)
        job = await seen(queue, id_, "done")
    assert (job.result, job.lost) == ("second", 1)
    assert runs[0].token < runs[1].token == job.token


class Plain:
    """Text that begins with a sign, and nothing else: not what JSON would write."""

    def encode(self, value: Any) -> bytes:
        """Refuse what is no text."""
        if not isinstance(value, str):
            raise TypeError("text only")
        return b"\x00" + value.encode("utf-16")

    def decode(self, written: bytes) -> Any:
        """Return the text."""
        return written[1:].decode("utf-16")


async def test_another_codec_writes_payloads_and_results(
    client: Redis, redis_server: Server, tasks: Tasks
) -> None:
    """Whatever bytes it makes; what it refuses is refused at once."""
    queue = Queue(client, "mail", codec=Plain())

    @tasks.task("greet")
    async def greet(job: RunningJob) -> str:
        return f"Hello, {job.payload}"

    with pytest.raises(InvalidJobError, match="text only"):
        await queue.enqueue("greet", 7)
    id_ = await queue.enqueue("greet", "you\n1 2 done 0 5")
    async with at_work(make_worker(redis_server, queue, tasks, codec=Plain())):
        job = await seen(queue, id_, "done")
    assert (job.payload, job.result) == ("you\n1 2 done 0 5", "Hello, you\n1 2 done 0 5")


async def test_a_handler_may_ask_for_a_longer_lease(
    queue: Queue, redis_server: Server, tasks: Tasks
) -> None:
    """From a thread too, and only as long as the job is its own."""
    asked, go_on = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    @tasks.task("long")
    def long(job: FromThread) -> None:
        job.extend(3600)
        loop.call_soon_threadsafe(asked.set)
        go_on.wait()

    id_ = await queue.enqueue("long")
    async with at_work(make_worker(redis_server, queue, tasks)):
        await asked.wait()
        job = await queue.get(id_)
        assert job
        assert job.lease_ms
        assert job.claimed_ms
        assert job.lease_ms >= job.claimed_ms + 3_600_000
        go_on.set()
        await seen(queue, id_, "done")
