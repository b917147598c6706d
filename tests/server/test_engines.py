"""One contract for whatever runs the jobs, held to on our own queue and on BullMQ.

Where the two differ, a test says what each of them does, and docs/decisions/queue-engines.md has a
row for it.
"""

import asyncio
import re
import sys
import threading
from pathlib import Path

import pytest
import redis
from redis.asyncio import Redis

from server.engines import EngineAwayError, open_engine, open_worker
from server.errors import SettingsError
from server.redisq import (
    InvalidJobError,
    NewJob,
    OutOfMemoryError,
    PermanentError,
    Snooze,
    Tasks,
)
from server.serve import serve
from server.settings import Settings
from tests.redisq.servers import server
from tests.server.program import run
from tests.server.queues import at_work, ended, engine_of, until

PAGE = Path(__file__).parents[2] / "docs" / "decisions" / "queue-engines.md"
ENGINES = ("redisq", "bullmq")


@pytest.fixture(scope="module")
def valkey():
    """A Valkey that the tests of this file share."""
    with server("valkey") as made:
        yield made


@pytest.fixture(params=ENGINES)
async def settings(request, valkey):
    """Settings for one engine on an empty server."""
    url = f"unix://{valkey.socket}"
    async with Redis.from_url(url) as client:
        await client.flushall()
    return Settings(REDIS_URL=url, queue_engine=request.param, queue_concurrency=4)


@pytest.fixture
async def engine(settings):
    """That engine."""
    async with engine_of(settings) as lent:
        yield lent


@pytest.fixture
def runs():
    """What ran, in order: (task, payload, attempt)."""
    return []


@pytest.fixture
def gate():
    """Keeps second runs waiting while it is closed."""
    event = asyncio.Event()
    event.set()
    return event


@pytest.fixture
def tasks(runs, gate):
    """Tasks that write down that they ran."""
    made = Tasks()

    @made.task("plain")
    def plain(job):
        runs.append(("plain", job.payload, job.attempt))
        return {"got": job.payload, "thread": threading.current_thread().name}

    @made.task("awaits")
    async def awaits(job):
        runs.append(("awaits", job.payload, job.attempt))
        await job.progress(0.5)
        return [job.id]

    @made.task("second-time")
    async def second_time(job):
        runs.append(("second-time", job.payload, job.attempt))
        if job.attempt == 1:
            raise OSError("not yet")
        await gate.wait()

    @made.task("never")
    async def never(job):
        runs.append(("never", job.payload, job.attempt))
        raise PermanentError("it is no picture")

    @made.task("early")
    async def early(job):
        runs.append(("early", job.payload, job.attempt))
        if len(runs) == 1:
            raise Snooze(0.05)

    return made


async def test_a_job_runs_and_its_result_is_kept(engine, settings, tasks, runs):
    """What was enqueued arrives as it was, what the task gave can be read."""
    payload = {"text": "Grüße 🐝", "list": [1, 2.5, None, True]}
    id_ = await engine.enqueue(NewJob(task="plain", payload=payload))
    waiting = await engine.get(id_)
    assert (waiting.state, waiting.task, waiting.payload) == ("ready", "plain", payload)
    async with at_work(settings, tasks):
        job = await ended(engine, id_)
    assert (job.state, job.result["got"], job.attempts, job.reason) == ("done", payload, 0, None)
    assert job.error is None
    assert job.queued_ms <= job.claimed_ms <= job.ended_ms
    assert job.result["thread"] != threading.current_thread().name
    assert runs == [("plain", payload, 1)]


async def test_a_coroutine_runs_in_the_loop_and_says_how_far_it_is(engine, settings, tasks):
    """Its job has the id under which it was enqueued."""
    id_ = await engine.enqueue(NewJob(task="awaits"))
    async with at_work(settings, tasks):
        job = await ended(engine, id_)
    assert (job.result, job.progress) == ([id_], 0.5)


async def test_the_same_id_is_the_same_job(engine, settings, tasks, runs):
    """While it waits, and when it is done: the second one changes nothing."""
    assert await engine.enqueue(NewJob(task="plain", payload=1, id="delivery-7")) == "delivery-7"
    assert await engine.enqueue(NewJob(task="plain", payload=2, id="delivery-7")) == "delivery-7"
    async with at_work(settings, tasks):
        await ended(engine, "delivery-7")
        await engine.enqueue(NewJob(task="plain", payload=3, id="delivery-7"))
        last = await engine.enqueue(NewJob(task="plain", payload="last"))
        await ended(engine, last)
    assert [payload for _, payload, _ in runs] == [1, "last"]


async def test_a_delayed_job_waits(engine, settings, tasks, runs):
    """One until later is scheduled; one that falls due runs."""
    later = await engine.enqueue(NewJob(task="plain", payload="later", delay_s=3600))
    soon = await engine.enqueue(NewJob(task="plain", payload="soon", delay_s=0.1))
    async with at_work(settings, tasks):
        assert (await ended(engine, soon)).state == "done"
    assert (await engine.get(later)).state == "scheduled"
    assert [payload for _, payload, _ in runs] == ["soon"]


async def test_the_more_urgent_ones_come_first(engine, settings, tasks, runs):
    """By priority, and among equals by their order."""
    for name, priority in (("low", -5), ("first", 0), ("second", 0), ("high", 5)):
        last = await engine.enqueue(NewJob(task="plain", payload=name, priority=priority))
    alone = settings.model_copy(update={"queue_concurrency": 1})
    async with at_work(alone, tasks):
        await until(lambda: _is_empty(engine))
        await ended(engine, last)
    assert [payload for _, payload, _ in runs] == ["high", "first", "second", "low"]


async def _is_empty(engine):
    depth = await engine.depth()
    return depth["ready"] + depth["active"] == 0


async def test_a_failure_is_tried_again_after_a_pause(engine, settings, tasks, runs, gate):
    """With the error to be read meanwhile, and the count of it afterwards."""
    gate.clear()
    id_ = await engine.enqueue(NewJob(task="second-time"))
    async with at_work(settings, tasks):

        async def failed():
            job = await engine.get(id_)
            return job if job.attempts else None

        between = await until(failed)
        assert (between.state in {"scheduled", "ready", "active"}, between.attempts) == (True, 1)
        assert "OSError" in between.error
        assert "not yet" in between.error
        gate.set()
        done = await ended(engine, id_)
    assert (done.state, done.attempts) == ("done", 1)
    assert [attempt for _, _, attempt in runs] == [1, 2]


async def test_the_last_attempt_is_the_last(engine, settings, tasks, runs):
    """The job is dead, its attempts exhausted; given another chance it has all of them again."""
    id_ = await engine.enqueue(NewJob(task="second-time", max_attempts=1))
    async with at_work(settings, tasks):
        dead = await ended(engine, id_)
        assert (dead.state, dead.reason, dead.attempts) == ("dead", "exhausted", 1)
        assert "not yet" in dead.error
        assert [job.id for job in await engine.ended("dead", 10)] == [id_]
        assert await engine.retry(id_)
        again = await ended(engine, id_)
    assert again.reason == "exhausted"
    assert len(runs) == 2
    assert not await engine.retry("nobody")


async def test_what_cannot_help_is_not_tried_again(engine, settings, tasks, runs):
    """Dead at once, and it says why."""
    id_ = await engine.enqueue(NewJob(task="never"))
    async with at_work(settings, tasks):
        dead = await ended(engine, id_)
    assert (dead.state, dead.reason) == ("dead", "refused")
    assert "it is no picture" in dead.error
    assert len(runs) == 1


async def test_too_early_is_no_failure(engine, settings, tasks, runs):
    """It comes again and no attempt is counted."""
    id_ = await engine.enqueue(NewJob(task="early", max_attempts=1))
    async with at_work(settings, tasks):
        done = await ended(engine, id_)
    assert (done.state, done.attempts) == ("done", 0)
    assert len(runs) == 2


async def test_an_unknown_task_waits_for_a_worker_that_knows_it(engine, settings, tasks, runs):
    """It is neither failed nor lost by one that does not."""
    id_ = await engine.enqueue(NewJob(task="plain", payload="x", max_attempts=1))
    known = Tasks()

    @known.task("other")
    async def other(job):
        runs.append(("other", job.payload, job.attempt))

    async with at_work(settings, known):
        await ended(engine, await engine.enqueue(NewJob(task="other")))
        assert (await engine.get(id_)).state not in {"done", "dead"}
        async with at_work(settings, tasks):
            done = await ended(engine, id_)
    assert (done.state, done.attempts) == ("done", 0)


def _named(wrong: dict) -> str:
    """Which field is wrong and what kind of value it has: an object's own name has its address."""
    return ",".join(f"{name}={type(value).__name__}" for name, value in wrong.items())


@pytest.mark.parametrize(
    "wrong",
    [
        {"task": "no name"},
        {"payload": float("nan")},
        {"payload": object()},
        {"payload": "x" * 1_048_577},
        {"delay_s": -1},
        {"priority": 1001},
        {"max_attempts": 0},
        {"id": "a b"},
    ],
    ids=_named,
)
async def test_what_cannot_be_taken_is_refused_at_once(engine, wrong):
    """With the field's name, and nothing is enqueued."""
    with pytest.raises(InvalidJobError) as caught:
        await engine.enqueue(NewJob(**({"task": "plain"} | wrong)))
    assert caught.value.field == next(iter(wrong))
    assert sum((await engine.depth()).values()) == 0


async def test_the_depth_counts_each_job_once(engine, settings, tasks):
    """Where it is; the latest end comes first."""
    assert set((await engine.depth()).values()) == {0}
    await engine.enqueue(NewJob(task="plain", delay_s=3600))
    ids = [await engine.enqueue(NewJob(task="awaits")) for _ in range(3)]
    ids.append(await engine.enqueue(NewJob(task="never")))
    assert await engine.depth() == {"ready": 4, "scheduled": 1, "active": 0, "done": 0, "dead": 0}
    alone = settings.model_copy(update={"queue_concurrency": 1})
    async with at_work(alone, tasks):
        for id_ in ids:
            await ended(engine, id_)
    assert await engine.depth() == {"ready": 0, "scheduled": 1, "active": 0, "done": 3, "dead": 1}
    assert len(await engine.ended("done", 2)) == 2


async def test_a_worker_that_stops_lets_run_what_runs(engine, settings):
    """And takes nothing more."""
    begun, go_on = asyncio.Event(), asyncio.Event()
    tasks = Tasks()

    @tasks.task("long")
    async def long(job):
        begun.set()
        await go_on.wait()
        return job.payload

    alone = settings.model_copy(update={"queue_concurrency": 1})
    first = await engine.enqueue(NewJob(task="long", payload=1))
    second = await engine.enqueue(NewJob(task="long", payload=2))
    async with open_worker(alone, settings.redis_url, tasks) as worker:
        working = asyncio.create_task(worker.run())
        await asyncio.wait_for(begun.wait(), 60)
        worker.stop()
        for _ in range(20):  # turns of the loop: whoever is to hear of it has heard
            await asyncio.sleep(0)
        go_on.set()
        await asyncio.wait_for(working, 60)
        assert worker.counts["done"] == 1
    states = {(await engine.get(id_)).state for id_ in (first, second)}
    assert states == {"done", "ready"}


async def test_a_server_that_is_away_is_said(settings, tmp_path):
    """By every method, as one error."""
    async with open_engine(settings, f"unix://{tmp_path}/nobody") as engine:
        for ask in (
            engine.enqueue(NewJob(task="plain")),
            engine.get("x"),
            engine.depth(),
            engine.ended("done", 1),
            engine.retry("x"),
        ):
            with pytest.raises(EngineAwayError):
                await ask


@pytest.fixture
async def full(settings):
    """A switch for the server's memory: full or not."""
    async with Redis.from_url(settings.redis_url) as client:

        async def switch(*, on: bool) -> None:
            await client.config_set("maxmemory", 1 if on else 0)

        yield switch
        await switch(on=False)


async def test_full_memory_takes_no_job(engine, full):
    """It is said by an error of its own."""
    await full(on=True)
    with pytest.raises(OutOfMemoryError):
        await engine.enqueue(NewJob(task="plain"))


ROWS: set[str] = set()


def _differs(row):
    """Names the row of the page that a test is about."""
    ROWS.add(row)
    return lambda test: test


def _of(settings, **each):
    return each[settings.queue_engine]


async def test_full_memory_keeps_no_outcome_back(engine, settings, full):
    """What runs already is done."""
    begun, go_on = asyncio.Event(), asyncio.Event()
    tasks = Tasks()

    @tasks.task("long")
    async def long(_job):
        begun.set()
        await go_on.wait()

    id_ = await engine.enqueue(NewJob(task="long"))
    async with at_work(settings, tasks):
        await asyncio.wait_for(begun.wait(), 60)
        await full(on=True)
        go_on.set()
        assert (await ended(engine, id_)).state == "done"


@_differs("what waits while memory is full")
async def test_what_waits_while_memory_is_full(engine, settings, tasks, full, caplog):
    """Ours is claimed and done, which makes room; BullMQ's waits until there is some."""
    id_ = await engine.enqueue(NewJob(task="plain"))
    await full(on=True)
    async with at_work(settings, tasks):
        if settings.queue_engine == "bullmq":

            async def refused():
                return any("maxmemory" in line.getMessage() for line in caplog.records)

            await until(refused)
            assert (await engine.get(id_)).state == "ready"
            await full(on=False)
        assert (await ended(engine, id_)).state == "done"


@_differs("a run that is broken off")
async def test_a_run_that_is_broken_off(engine, settings):
    """Told twice to stop, our worker gives its jobs back; BullMQ's leaves them to their locks."""
    begun = asyncio.Event()
    tasks = Tasks()

    @tasks.task("endless")
    async def endless(_job):
        begun.set()
        await asyncio.Event().wait()

    id_ = await engine.enqueue(NewJob(task="endless"))
    async with open_worker(settings, settings.redis_url, tasks) as worker:
        working = asyncio.create_task(worker.run())
        await asyncio.wait_for(begun.wait(), 60)
        worker.stop()
        worker.stop()
        await asyncio.wait_for(working, 60)
    job = await engine.get(id_)
    assert (job.state, job.attempts) == (_of(settings, redisq="ready", bullmq="active"), 0)


@_differs("a large result")
async def test_a_large_result(engine, settings):
    """Ours keeps results up to 64 KiB and says of others that they were too large."""
    tasks = Tasks()

    @tasks.task("much")
    async def much(_job):
        return "x" * 70_000

    id_ = await engine.enqueue(NewJob(task="much"))
    async with at_work(settings, tasks):
        job = await ended(engine, id_)
    assert job.state == _of(settings, redisq="dead", bullmq="done")


@_differs("`at`, `keep_s`, `timeout_s`, `unique`")
@pytest.mark.parametrize(
    "option", [{"at": 1.0}, {"keep_s": 1.0}, {"timeout_s": 1.0}, {"unique": "x"}], ids=str
)
async def test_options_that_only_ours_has(engine, settings, option):
    """BullMQ's engine refuses them by name and takes nothing."""
    job = NewJob(task="plain", **option)
    if settings.queue_engine == "redisq":
        assert await engine.enqueue(job)
        return
    with pytest.raises(InvalidJobError, match="not with BullMQ"):
        await engine.enqueue(job)


def test_the_command_line_uses_the_engine_that_is_set(valkey):
    """What the port has goes to it, what only our own queue has is refused with a way round."""
    there = {"REDIS_URL": f"unix://{valkey.socket}", "WORKERS_QUEUE_ENGINE": "bullmq"}
    added = run("queue", "enqueue", "square", '{"x": 7}', **there)
    assert added.returncode == 0, added.stderr
    with redis.Redis.from_url(there["REDIS_URL"]) as client:
        assert client.hget(f"bull:default:{added.stdout.strip()}", "data") == b'{"x":7}'
    refused = run("queue", "pause", **there)
    assert refused.returncode == 1
    assert "the engine is bullmq" in refused.stderr
    assert "WORKERS_QUEUE_ENGINE" in refused.stderr


def test_an_engine_that_is_not_installed_is_named(monkeypatch, tmp_path):
    """With the command that installs it, and before a server starts anything."""
    monkeypatch.setitem(sys.modules, "bullmq", None)
    monkeypatch.delitem(sys.modules, "server.engines.bullmq_engine", raising=False)
    settings = Settings(queue_engine="bullmq", data_dir=tmp_path)
    for ask in (
        lambda: serve(settings),
        lambda: open_engine(settings, "unix:///nowhere"),
        lambda: open_worker(settings, "unix:///nowhere", Tasks()),
    ):
        with pytest.raises(SettingsError, match="not installed") as caught:
            ask()
        assert "[bullmq]" in str(caught.value.hint)
    assert list(tmp_path.iterdir()) == []


def test_the_page_has_a_row_for_each_difference():
    """Those that are tested, marked so, and those that can only be said."""
    table = PAGE.read_text(encoding="utf-8").split("## Where they differ")[1].split("\n## ")[0]
    rows = dict(re.findall(r"^\| ([^|]+?) \| .* \| (tested|said) \|$", table, flags=re.MULTILINE))
    assert {row for row, how in rows.items() if how == "tested"} == ROWS
