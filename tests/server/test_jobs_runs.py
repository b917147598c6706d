"""One run of a job at a time, fenced: what the statements hold, whoever is slow or dead."""

import asyncio
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from server.jobs import store
from server.jobs.carrying import carry
from server.jobs.errors import JobFailedError, LeaseLostError
from server.jobs.model import Ended, Outcome, Waker
from server.jobs.registry import Job
from server.jobs.running import Running
from server.settings import Settings

PATIENCE_S = 60.0
DONE = Ended(Outcome.SUCCEEDED, report={"n": 1})


async def _begin(connection, *, holder="a", tick=None, lease_s=300.0):
    return await store.begin(
        connection,
        "tidy",
        waker=Waker.CRON if tick else Waker.CLICK,
        woken_by="a test",
        holder=holder,
        lease_s=lease_s,
        scheduled_for=tick,
    )


async def _expire(connection):
    await connection.execute(
        "update jobs.jobs set lease_expires_at = clock_timestamp() - interval '1 second'"
        " where run_id is not null"
    )


async def _only_run(connection):
    [run] = await store.history(connection)
    return run


@pytest.fixture
async def known(connection):
    """A connection to a database that knows the job."""
    await store.register(connection, ["tidy"])
    return connection


def _job(act, **options) -> Job:
    return Job("tidy", "does what the test says", act, **{"grace_s": 0.0, **options})


@pytest.fixture
async def begun(known, connect, database):
    """A run that has begun, as its job is given it."""
    claim = await _begin(known)
    return Running(claim, connect, database, Settings(DATABASE_URL=database))


async def _for_ever(_running):
    await asyncio.Event().wait()
    return {}


async def test_one_run_at_a_time_however_many_try(known, connect):
    """Twelve at once: one has it, and after its end the next has a higher fence."""

    async def one(number):
        async with connect() as connection:
            return await _begin(connection, holder=str(number))

    fences = []
    for _ in range(3):
        begun = [claim for claim in await asyncio.gather(*map(one, range(12))) if claim]
        assert len(begun) == 1
        fences.append(begun[0].fence)
        assert await store.finish(known, begun[0].run, begun[0].fence, DONE)
    assert fences == [1, 2, 3]


async def test_one_tick_is_one_run_however_many_wake_up(known, connect):
    """Also when the first has ended before the others come."""
    tick = datetime.now(UTC).replace(microsecond=0) - timedelta(seconds=5)
    await known.execute("update jobs.jobs set decided_until = %s - interval '1 hour'", (tick,))

    async def one(number):
        async with connect() as connection:
            claim = await _begin(connection, holder=str(number), tick=tick)
            if claim:
                assert await store.finish(connection, claim.run, claim.fence, DONE)
            return claim

    claims = [claim for claim in await asyncio.gather(*map(one, range(6))) if claim]
    assert [claim.scheduled_for for claim in claims] == [tick]
    earlier = tick - timedelta(minutes=1)
    assert await _begin(known, tick=earlier) is None
    assert (await _only_run(known)).scheduled_for == tick


async def test_a_tick_is_due_by_the_clock_of_the_database(known):
    """A server whose clock is ahead begins nothing."""
    [(now,)] = await (await known.execute("select clock_timestamp()")).fetchall()
    assert await _begin(known, tick=now + timedelta(minutes=5)) is None
    assert await store.history(known) == []


async def test_a_run_whose_server_died_is_lost_and_stands_in_nobodys_way(known):
    """It counts as lost as soon as its lease is over, and the next run notes it."""
    dead = await _begin(known, holder="dead")
    await _expire(known)
    assert (await _only_run(known)).outcome is Outcome.LOST
    after = await _begin(known, holder="alive")
    assert after.fence == dead.fence + 1
    running, lost = await store.history(known)
    assert (running.outcome, lost.outcome) == (Outcome.RUNNING, Outcome.LOST)
    assert lost.ended_at is not None
    assert "dead" in lost.error


async def test_late_writes_are_refused(known, connect, database):
    """The end of a run that was lost, its lease, and what it would write in its own name."""
    late = await _begin(known, holder="late")
    await _expire(known)
    assert await store.extend(known, late.run, late.fence, lease_s=300) == (False, None)
    assert not await store.finish(known, late.run, late.fence, DONE)
    assert not await store.cancel(known, "tidy", late.run, by="x")
    running = Running(late, connect, database, Settings(DATABASE_URL=database))
    with pytest.raises(LeaseLostError):
        async with running.fenced():
            raise AssertionError
    after = await _begin(known)
    assert not await store.finish(known, late.run, late.fence, DONE)
    assert not await store.cancel(known, "tidy", late.run, by="x")
    assert await store.finish(known, after.run, after.fence, DONE)
    assert [run.outcome for run in await store.history(known)] == [Outcome.SUCCEEDED, Outcome.LOST]


async def test_no_run_begins_while_another_writes_in_its_name(known, begun, connect):
    """The lease may be over by then: who wants to begin waits for the end of the transaction."""
    async with connect() as other:
        async with begun.fenced() as writing:
            await writing.execute("select 1")
            held, _ = await store.extend(known, begun.claim.run, begun.claim.fence, lease_s=300)
            assert held
            await _expire(known)
            waiting = asyncio.create_task(_begin(other, holder="other"))
            await asyncio.wait_for(_blocked(known), PATIENCE_S)
            assert not waiting.done()
        claim = await waiting
        assert claim.fence == begun.claim.fence + 1


async def _blocked(connection):
    while True:
        cursor = await connection.execute(
            "select count(*) from pg_stat_activity where datname = current_database()"
            " and wait_event_type = 'Lock'"
        )
        if await cursor.fetchone() != (0,):
            return
        await asyncio.sleep(0.02)


async def test_a_fence_never_falls_and_a_tick_never_comes_twice_in_the_table(known):
    """Whatever a program does, the constraints hold."""
    claim = await _begin(known)
    with pytest.raises(psycopg.errors.UniqueViolation):
        await known.execute(
            "insert into jobs.runs (job, fence, waker, woken_by, holder)"
            " values ('tidy', %s, 'click', 'x', 'x')",
            (claim.fence,),
        )


async def test_what_a_job_returns_is_written_down(known, begun):
    """With the process's own use of the machine, if it is there for the run alone."""

    async def act(running):
        async with running.fenced() as connection:
            await connection.execute("select 1")
        return {"swept": 3}

    assert await carry(_job(act), begun, own_process=True) is Outcome.SUCCEEDED
    run = await _only_run(known)
    assert (run.outcome, run.report, run.error) == (Outcome.SUCCEEDED, {"swept": 3}, None)
    assert run.cpu_s > 0
    assert run.memory_bytes > 2**20
    assert run.took_s >= 0


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (JobFailedError("two too many"), "two too many"),
        (ValueError("what\0is this"), "ValueError: whatis this"),
        (asyncio.CancelledError(), "it was cancelled from within"),
    ],
    ids=["said", "unexpected", "cancelled"],
)
async def test_a_job_that_fails_says_why(known, begun, error, words):
    """And the next run may begin."""

    async def act(_running):
        raise error

    assert await carry(_job(act), begun) is Outcome.FAILED
    assert (await _only_run(known)).error == words
    assert await _begin(known) is not None


async def test_a_run_that_takes_too_long_is_ended(known, begun):
    """It may end in good order; its report is kept."""

    async def act(running):
        await running.stop.wait()
        return {"done": "half"}

    job = _job(act, timeout_s=0.05, grace_s=PATIENCE_S)
    assert await carry(job, begun) is Outcome.TIMED_OUT
    run = await _only_run(known)
    assert (run.outcome, run.report) == (Outcome.TIMED_OUT, {"done": "half"})
    assert "0.05 s" in run.error


async def test_an_operator_cancels_it_from_elsewhere(known, begun):
    """It hears of it when it renews its lease."""
    carried = asyncio.create_task(carry(_job(_for_ever), begun, beat_s=0.02))
    assert await store.cancel(known, "tidy", begun.claim.run, by="ada")
    assert await asyncio.wait_for(carried, PATIENCE_S) is Outcome.CANCELLED
    run = await _only_run(known)
    assert (run.cancelled_by, run.error) == ("ada", "cancelled by ada")
    assert not await store.cancel(known, "tidy", run.id, by="ada")


async def test_a_run_that_lost_its_lease_is_cancelled(known, begun):
    """It stops, and writes nothing."""
    stopped = asyncio.Event()

    async def act(_running):
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    carried = asyncio.create_task(carry(_job(act), begun, beat_s=0.02))
    await _expire(known)
    after = await _begin(known, holder="other")
    assert await asyncio.wait_for(carried, PATIENCE_S) is Outcome.LOST
    assert stopped.is_set()
    now, lost = await store.history(known)
    assert (now.id, now.outcome, lost.outcome) == (after.run, Outcome.RUNNING, Outcome.LOST)
    assert lost.report is None


async def test_a_database_that_is_away_longer_than_the_lease_ends_the_run(begun, database):
    """Nobody knows any more whether it is still ours."""

    @asynccontextmanager
    async def away():
        raise psycopg.OperationalError("away")
        yield

    running = Running(begun.claim, away, database, begun.settings)
    assert await carry(_job(_for_ever), running, lease_s=0.1, beat_s=0.02) is Outcome.LOST


async def test_old_runs_are_forgotten_but_for_the_last(known):
    """A hundred of each job stay, however old."""
    await known.execute(
        "insert into jobs.runs (job, fence, waker, woken_by, holder, started_at, ended_at, outcome)"
        " select 'tidy', n, 'click', 'x', 'x', now() - interval '40 days',"
        " now() - interval '40 days', 'succeeded' from generate_series(1, 130) as n"
    )
    await known.execute("update jobs.jobs set fence = 130")
    assert await store.forget(known, keep_s=30 * 86400.0) == 30
    assert min(run.fence for run in await store.history(known, limit=1000)) == 31
