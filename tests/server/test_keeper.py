"""Leases are extended from a thread: a loop that is blocked keeps what it holds."""

import asyncio
import contextlib
import time
from dataclasses import replace
from datetime import UTC, datetime

import psycopg
import pytest

from server.outbox import Delivery, Policy, Turn, keeping_leases, reap
from server.outbox.lag import LoopLag
from server.outbox.lease import Leases
from tests.server.proxy import Proxy

SHORT = Policy(lease_s=1.2, send_timeout_s=0.6, send_margin_s=0.3, poll_s=3600, stop_s=5)
LASTING = Policy(lease_s=6, send_timeout_s=2, send_margin_s=1, poll_s=3600, stop_s=5)
"""Extended every two seconds: a machine that stands still for three more loses nothing."""

PATIENCE_S = 60


class Sender:
    """A channel that acts as the test says."""

    def __init__(self, act) -> None:
        self._act = act

    async def send(self, delivery: Delivery) -> None:
        """Acts."""
        await self._act(delivery)


def _lease(database: str, number: int):
    """Reads, without the loop, when the lease of a delivery ends and whether it has ended."""
    with psycopg.connect(database) as connection:
        row = connection.execute(
            "select lease_expires_at, lease_expires_at < clock_timestamp()"
            " from notifications.notification_deliveries where id = %s",
            (number,),
        ).fetchone()
    assert row is not None
    return row


async def test_a_blocked_loop_keeps_its_leases(connect, connection, database, rows):
    """While the loop stands still its row is kept, again and again, and nobody could take it."""
    [number] = await rows.add(connection)
    ends = set()
    worst = 0.0

    async def block(_delivery: Delivery) -> None:
        nonlocal worst
        until = time.monotonic() + PATIENCE_S
        while len(ends) < 3 and time.monotonic() < until:
            at, over = _lease(database, number)
            assert not over
            ends.add(at)
            time.sleep(0.05)  # noqa: ASYNC251 - blocking the loop is what is tested
        worst = turn.lag.seconds

    turn = Turn(connect, {"page": Sender(block)}, LASTING, holder="me")
    async with keeping_leases(database, turn):
        tally = await turn.take(asyncio.Event())
    assert len(ends) == 3, "the lease was extended more than once"
    assert tally.lost == 0
    assert (await rows.read(connection, number))["status"] in {"sent", "pending"}
    assert worst > LASTING.lease_s / 3, "and the lag was seen while the loop was blocked"
    assert turn.lag.worst >= worst


async def test_without_a_keeper_a_blocked_loop_loses_them(connect, connection, database, rows):
    """The same without the thread: this is what the test above would not notice otherwise."""
    [number] = await rows.add(connection)
    seen = []

    async def block(_delivery: Delivery) -> None:
        time.sleep(1.5 * SHORT.lease_s)  # noqa: ASYNC251 - blocking the loop is what is tested
        seen.append(_lease(database, number)[1])

    turn = Turn(connect, {"page": Sender(block)}, SHORT, holder="me")
    await turn.take(asyncio.Event())
    assert seen == [True]


async def test_a_send_whose_lease_is_lost_is_cancelled(connect, connection, database, rows):
    """Somebody else has the row: our send ends, and nothing is settled for it."""
    [number] = await rows.add(connection)
    cancelled = asyncio.Event()

    async def act(_delivery: Delivery) -> None:
        await rows.expire(connection)
        await reap(connection)
        [taken] = await rows.take(connection, holder="heir")
        assert taken.attempt == 2
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    policy = Policy(lease_s=9, send_timeout_s=8, send_margin_s=0.5)
    turn = Turn(connect, {"page": Sender(act)}, policy, holder="me")
    async with keeping_leases(database, turn):
        tally = await turn.take(asyncio.Event())
    assert cancelled.is_set()
    assert (tally.lost, tally.retried, tally.refused) == (1, 0, 0)
    assert (await rows.read(connection, number))["holder"] == "heir"


async def test_leases_are_extended_until_the_settle_is_through(connect, connection, database, rows):
    """For as long as the database does not take the outcome, the row stays ours."""
    [number] = await rows.add(connection)
    sent = asyncio.Event()

    @contextlib.asynccontextmanager
    async def away_for_settles():
        if sent.is_set() and not settling.is_set():
            raise psycopg.OperationalError("away")
        async with connect() as opened:
            yield opened

    async def act(_delivery: Delivery) -> None:
        sent.set()

    settling = asyncio.Event()
    turn = Turn(away_for_settles, {"page": Sender(act)}, LASTING, holder="me")
    ends = set()
    async with keeping_leases(database, turn):
        task = asyncio.create_task(turn.take(asyncio.Event()))
        async with asyncio.timeout(PATIENCE_S):
            await sent.wait()
            while len(ends) < 3:
                at, over = await asyncio.to_thread(_lease, database, number)
                assert not over
                ends.add(at)
                await asyncio.sleep(0.02)
        assert await rows.take(connection, holder="other") == []
        settling.set()
        assert (await task).sent == 1


@pytest.mark.parametrize("fault", ["cut", "deaf"])
async def test_the_keeper_gets_over_its_connection(request, connect, connection, rows, fault):
    """Cut off, or left without an answer: another connection extends in time."""
    database = request.getfixturevalue("unpooled" if fault == "cut" else "database")
    delivery = await rows.take_one(connection, lease_s=LASTING.lease_s)
    ends = set()

    async def break_it() -> None:
        if fault == "deaf":
            proxy.deafen()
            proxy.renew()
            return
        cut = await connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where datname = current_database()"
            " and query = 'COMMIT' and pid <> pg_backend_pid()"
        )
        # One that only looked at the lease may still be on its way out.
        assert cut.rowcount >= 1

    policy = replace(LASTING, statement_s=0.5)
    turn = Turn(connect, {}, policy, holder="a")
    turn.leases.hold([delivery], time.monotonic() + policy.lease_s)
    async with Proxy(database).running() as proxy, keeping_leases(proxy.conninfo, turn):
        async with asyncio.timeout(PATIENCE_S):
            while len(ends) < 3:
                at, over = await asyncio.to_thread(_lease, database, delivery.id)
                assert not over
                if at not in ends:
                    ends.add(at)
                    if len(ends) == 2:
                        await break_it()
                await asyncio.sleep(0.02)
        assert proxy.connections >= 2
    assert turn.leases.held() == [delivery]


def _delivery(number: int) -> Delivery:
    noon = datetime(2026, 5, 4, 12, tzinfo=UTC)
    return Delivery(number, "page", "p", {}, 1, 5, None, noon, noon, noon)


def test_what_was_dropped_meanwhile_is_not_lost():
    """Settled while the extension ran: the database says no, and that is no loss."""
    leases = Leases()
    kept, lost, dropped = (_delivery(n) for n in (1, 2, 3))
    leases.hold([kept, lost, dropped], 10.0)
    asked = leases.held()
    leases.drop([dropped])
    assert leases.renewed(asked, {1}, 20.0) == [lost]
    assert (leases.ends(kept), leases.ends(lost), leases.ends(dropped)) == (20.0, None, None)
    assert leases.first_end() == 20.0
    assert leases.held() == [kept]


async def test_a_lag_is_seen_before_the_loop_answers():
    """And the worst of it stays."""
    now = [0.0]
    lag = LoopLag(lambda: now[0])
    lag.probe(asyncio.get_running_loop())
    now[0] = 3.0
    assert (lag.seconds, lag.worst) == (3.0, 3.0)
    await asyncio.sleep(0)
    lag.probe(asyncio.get_running_loop())
    now[0] = 3.5
    await asyncio.sleep(0)
    assert (lag.seconds, lag.worst) == (0.5, 3.0)
