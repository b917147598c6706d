"""What wakes jobs: several servers over one database, a server that was down, one that is gone."""

import asyncio
from contextlib import asynccontextmanager
from itertools import pairwise

import psycopg
import pytest

from server.jobs import store
from server.jobs.model import Ended, Outcome, Waker
from server.jobs.registry import Job, Registry
from server.jobs.schedule import SKIP, CatchUp, Every
from server.jobs.scheduler import Scheduler

PATIENCE_S = 60.0


async def _nothing(_running):
    return {}


def _jobs(seconds, **options) -> Registry:
    return Registry([Job("tidy", "ticks", _nothing, (Every(seconds),), **options), HAND])


HAND = Job("hand", "is woken by hand", _nothing)


class Server:
    """A scheduler that begins runs and ends them at once; `began` has what it began."""

    def __init__(self, name, jobs, connect, *, hears=True, lease_s=60.0):
        self.began = []
        self._name = name
        self._hears = hears
        self.scheduler = Scheduler(jobs, connect, self._wake, lease_s=lease_s)
        self.some = asyncio.Event()

    async def _wake(self, connection, job, waker, by, tick):
        claim = await store.begin(
            connection, job.name, waker=waker, woken_by=by, holder=self._name, lease_s=60.0,
            scheduled_for=tick,
        )  # fmt: skip
        if claim is not None:
            self.began.append(claim)
            done = Ended(Outcome.SUCCEEDED)
            assert await store.finish(connection, claim.run, claim.fence, done)
            self.some.set()
            if self._hears:
                self.scheduler.look_again()
        return claim

    @asynccontextmanager
    async def running(self):
        """Lets it wake jobs meanwhile."""
        stop = asyncio.Event()
        task = asyncio.create_task(self.scheduler.run(stop))
        try:
            yield self
        finally:
            stop.set()
            await asyncio.wait_for(task, PATIENCE_S)


async def _since(connection, span, job="tidy"):
    """Says that all ticks up to so long ago have been dealt with."""
    await store.register(connection, [job])
    await connection.execute(
        "update jobs.jobs set decided_until = clock_timestamp() - %s::interval", (span,)
    )


async def test_three_servers_on_one_tick_run_it_once(connect, connection):
    """Tick after tick, each is begun by one of them."""
    servers = [Server(str(number), _jobs(1), connect) for number in range(3)]
    async with servers[0].running(), servers[1].running(), servers[2].running():
        await asyncio.wait_for(_runs(connection, 3), PATIENCE_S)
    runs = await store.history(connection, limit=1000)
    ticks = [run.scheduled_for for run in runs]
    assert len(set(ticks)) == len(ticks)
    assert {tick.microsecond for tick in ticks} == {0}
    began = [claim.run for one in servers for claim in one.began]
    assert sorted(began) == sorted(run.id for run in runs)
    assert {(run.waker, run.woken_by) for run in runs} == {(Waker.INTERVAL, "every 1 s")}


async def _runs(connection, count):
    """Waits until there have been so many."""
    while True:
        if len(await store.history(connection)) >= count:
            return
        await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    ("rule", "expected"), [(SKIP, 0), (CatchUp(1), 1), (CatchUp(3), 3)], ids=str
)
async def test_a_server_that_was_down_over_ticks(connect, connection, rule, expected):
    """The job's rule says what becomes of them; the latest are run, in order, one by one."""
    # The last ticks were years ago, and so will the next be.
    await _since(connection, "200 years")
    jobs = _jobs(2**30, catch_up=CatchUp(rule.most, 0.0))
    # It does not hear of the end of a run, as if another server had it.
    server = Server("late", jobs, connect, hears=False, lease_s=0.2)
    async with server.running():
        await asyncio.wait_for(_decided(connection, jobs), PATIENCE_S)
    ticks = [claim.scheduled_for for claim in server.began]
    assert len(ticks) == expected
    assert ticks == sorted(ticks)
    assert all((b - a).total_seconds() == 2**30 for a, b in pairwise(ticks))


async def _decided(connection, jobs):
    """Waits until nothing that is due is left to be decided."""
    [trigger] = jobs["tidy"].triggers
    while True:
        state = (await store.states(connection, ["tidy"]))["tidy"]
        if next(trigger.after(state.decided_until)) > state.now and not state.busy:
            return
        await asyncio.sleep(0.02)


async def test_a_tick_waits_for_a_run_that_goes_on(connect, connection):
    """And for the lease of one whose server is gone, which then is lost."""
    await _since(connection, "1 hour")
    await store.begin(
        connection, "tidy", waker=Waker.CLICK, woken_by="x", holder="gone", lease_s=300.0
    )
    server = Server("there", _jobs(600), connect)
    async with server.running():
        await asyncio.wait_for(_asked(server, 2), PATIENCE_S)
        server.scheduler.look_again()
        await asyncio.wait_for(_asked(server, 3), PATIENCE_S)
        assert server.began == []
        await connection.execute(
            "update jobs.jobs set lease_expires_at = now() where run_id is not null"
        )
        server.scheduler.look_again()
        await asyncio.wait_for(server.some.wait(), PATIENCE_S)
    runs = await store.history(connection)
    assert [run.outcome for run in runs] == [Outcome.SUCCEEDED, Outcome.LOST]


async def test_the_end_of_a_lease_is_looked_at_without_a_word(connect, connection):
    """A server that is gone says nothing; what waits for it begins all the same."""
    await _since(connection, "1 hour")
    await store.begin(
        connection, "tidy", waker=Waker.CLICK, woken_by="x", holder="gone", lease_s=0.5
    )
    server = Server("there", _jobs(2**30), connect)
    await connection.execute("update jobs.jobs set decided_until = now() - interval '100 years'")
    async with server.running():
        await asyncio.wait_for(server.some.wait(), PATIENCE_S)
    runs = await store.history(connection)
    assert [run.outcome for run in runs] == [Outcome.SUCCEEDED, Outcome.LOST]


async def _asked(server, statements):
    """Waits until it has sent so many."""
    while True:
        if server.scheduler.statements >= statements:
            return
        await asyncio.sleep(0.02)


async def test_between_ticks_nothing_is_asked(connect, connection):
    """It registers the jobs, looks once, and sleeps; what is woken by hand costs nothing."""
    server = Server("idle", _jobs(2**30), connect)
    async with server.running():
        await asyncio.wait_for(_asked(server, 2), PATIENCE_S)
        known = await connection.execute("select name from jobs.jobs order by name")
        assert await known.fetchall() == [("hand",), ("tidy",)]
        for _ in range(50):
            await asyncio.sleep(0)
        assert server.scheduler.statements == 2


async def test_a_database_that_is_away_is_asked_again(connect, connection):
    """The tick that it was away over is late, or missed, as any other."""
    await _since(connection, "1 hour")
    away = 2

    @asynccontextmanager
    async def seldom():
        nonlocal away
        if away:
            away -= 1
            raise psycopg.OperationalError("away")
        async with connect() as opened:
            yield opened

    server = Server("patient", _jobs(600), seldom)
    async with server.running():
        await asyncio.wait_for(server.some.wait(), PATIENCE_S)
    assert len(server.began) == 1
