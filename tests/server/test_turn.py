"""A turn claims, sends side by side under its lease, and settles what came of it."""

import asyncio
from collections.abc import Awaitable, Callable

import psycopg
import pytest

from server.outbox import Delivery, Policy, Refused, SettleAbandonedError, Turn, settle
from server.outbox.connect import cut
from server.outbox.model import Settlement, Status

FAST = Policy(lease_s=50, send_timeout_s=10, send_margin_s=10, poll_s=1)


class Sender:
    """A channel that does what the test says, and keeps what it was given."""

    def __init__(self, act: Callable[[Delivery], Awaitable[None]]) -> None:
        self._act = act
        self.given: list[Delivery] = []

    async def send(self, delivery: Delivery) -> None:
        """Keeps it and acts."""
        self.given.append(delivery)
        await self._act(delivery)


async def nothing(_delivery: Delivery) -> None:
    """Takes it."""


@pytest.fixture
def turn(connect):
    """Makes a turn with one channel."""

    def make(act=nothing, policy=FAST, **options) -> tuple[Turn, Sender]:
        sender = Sender(act)
        return Turn(connect, {"page": sender}, policy, holder="me", **options), sender

    return make


async def test_what_is_sent_is_settled(turn, connection, rows):
    """The plain case."""
    ids = await rows.add(connection, 3)
    work, sender = turn()
    tally = await work.take(asyncio.Event())
    assert (tally.claimed, tally.sent) == (3, 3)
    assert sorted(d.id for d in sender.given) == ids
    assert [(await rows.read(connection, n))["status"] for n in ids] == ["sent"] * 3


async def test_nothing_due_is_an_empty_turn(turn):
    """Nothing claimed, nothing sent."""
    work, sender = turn()
    assert (await work.take(asyncio.Event())).claimed == 0
    assert sender.given == []


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (Refused("no such address"), ("failed", "no such address")),
        (ConnectionResetError("gone"), ("pending", "ConnectionResetError: gone")),
        (KeyError("x"), ("pending", "KeyError: 'x'")),
    ],
)
async def test_what_a_channel_raises_is_an_outcome(turn, connection, rows, error, outcome):
    """A refusal is final, anything else is tried again, and the others are not touched by it."""
    first, second = await rows.add(connection, 2)

    async def act(delivery: Delivery) -> None:
        if delivery.id == first:
            raise error

    await turn(act)[0].take(asyncio.Event())
    row = await rows.read(connection, first)
    assert (row["status"], row["last_error"]) == outcome
    assert (await rows.read(connection, second))["status"] == "sent"


async def test_a_send_that_takes_too_long_is_ended_and_tried_again(turn, connection, rows):
    """It is cancelled, so that it cannot outlive its lease."""
    [number] = await rows.add(connection)
    cancelled = asyncio.Event()

    async def hang(_delivery: Delivery) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    policy = Policy(lease_s=50, send_timeout_s=0.05, send_margin_s=10)
    await turn(hang, policy)[0].take(asyncio.Event())
    row = await rows.read(connection, number)
    assert (row["status"], row["last_error"]) == ("pending", "no answer within 0.05 s")
    assert cancelled.is_set()


async def test_sends_run_side_by_side_up_to_the_limit(turn, connection, rows):
    """As many as allowed at once, and not one more."""
    await rows.add(connection, 9)
    running = most = 0
    full = asyncio.Event()

    async def act(_delivery: Delivery) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 4:
            full.set()
        await full.wait()
        running -= 1

    policy = Policy(concurrency=4, lease_s=50, send_timeout_s=10, send_margin_s=10)
    tally = await turn(act, policy)[0].take(asyncio.Event())
    assert (tally.sent, most) == (9, 4)


async def test_no_transaction_is_open_during_a_send(turn, connection, rows):
    """Nobody waits for a slow receiver."""
    await rows.add(connection)
    seen = []

    async def act(_delivery: Delivery) -> None:
        cursor = await connection.execute(
            "select count(*) from pg_stat_activity"
            " where datname = current_database() and state <> 'idle' and pid <> pg_backend_pid()"
            " and backend_type = 'client backend'"
        )
        seen.append(await cursor.fetchone())

    await turn(act)[0].take(asyncio.Event())
    assert seen == [(0,)]


async def test_stopping_releases_what_was_not_started(turn, connection, rows):
    """What runs is finished and settled, the rest costs no attempt of its budget."""
    ids = await rows.add(connection, 5)
    stop = asyncio.Event()

    async def act(_delivery: Delivery) -> None:
        stop.set()

    policy = Policy(concurrency=1, lease_s=50, send_timeout_s=10, send_margin_s=10)
    work, sender = turn(act, policy)
    tally = await work.take(stop)
    assert (tally.sent, tally.released) == (1, 4)
    assert [d.id for d in sender.given] == ids[:1]
    left = [await rows.read(connection, number) for number in ids[1:]]
    assert {(r["status"], r["attempts"], r["max_attempts"]) for r in left} == {("pending", 1, 6)}


async def test_a_lease_that_gets_short_is_renewed(turn, connection, rows):
    """Before the next send, for the whole batch, those included that wait to be settled."""
    ids = await rows.add(connection, 2)
    time = [0.0]
    leases = []

    async def act(_delivery: Delivery) -> None:
        time[0] += 40  # 40 + time-out 10 + margin 10 is more than the lease of 50
        leases.append([(await rows.read(connection, n))["lease_expires_at"] for n in ids])

    policy = Policy(concurrency=1, lease_s=50, send_timeout_s=10, send_margin_s=10)
    tally = await turn(act, policy, clock=lambda: time[0])[0].take(asyncio.Event())
    (first_then, second_then), (first_now, second_now) = leases
    assert first_now > first_then
    assert second_now > second_then
    assert (tally.sent, tally.lost) == (2, 0)


async def test_a_lease_that_is_lost_starts_no_send(turn, connection, rows):
    """The second delivery has gone to somebody else while the first was slow."""
    first, second = await rows.add(connection, 2)
    time = [0.0]

    async def act(delivery: Delivery) -> None:
        if delivery.id == first:
            time[0] += 40
            await rows.expire(connection)

    policy = Policy(concurrency=1, lease_s=50, send_timeout_s=10, send_margin_s=10)
    work, sender = turn(act, policy, clock=lambda: time[0])
    tally = await work.take(asyncio.Event())
    assert [d.id for d in sender.given] == [first]
    assert (tally.sent, tally.lost) == (1, 1)
    assert (await rows.read(connection, second))["status"] == "processing"


async def test_a_late_write_is_refused_counted_and_logged(turn, connection, rows, caplog):
    """Frozen in the middle of a send: the row went to another, and our outcome is refused."""
    [number] = await rows.add(connection)

    async def act(_delivery: Delivery) -> None:
        await rows.expire(connection)
        from_reaper = await connection.execute(
            "update notifications.notification_deliveries set status = 'pending', holder = null,"
            " lease_expires_at = null, next_attempt_at = now()"
        )
        assert from_reaper.rowcount == 1
        [other] = await rows.take(connection, holder="b")
        assert other.attempt == 2

    work, _ = turn(act)
    with caplog.at_level("WARNING"):
        tally = await work.take(asyncio.Event())
    assert (tally.refused, tally.sent) == (1, 0)
    assert [r.action for r in caplog.records] == ["refuse"]
    assert (await rows.read(connection, number))["holder"] == "b"


async def test_outcomes_are_written_when_the_database_comes_back(connect, connection, rows):
    """The settle is tried again; nothing is sent twice."""
    [number] = await rows.add(connection)
    calls = 0

    class Flaky:
        """Lends connections, of which the second one is cut off."""

        async def __aenter__(self):
            nonlocal calls
            calls += 1
            self.lent = connect()
            opened = await self.lent.__aenter__()
            if calls == 2:
                cut(opened)
            return opened

        async def __aexit__(self, *error):
            await self.lent.__aexit__(*error)

    sender = Sender(nothing)
    work = Turn(Flaky, {"page": sender}, FAST, holder="me")
    tally = await work.take(asyncio.Event())
    assert (tally.sent, len(sender.given), calls) == (1, 1, 3)
    assert (await rows.read(connection, number))["status"] == "sent"


async def test_outcomes_are_given_up_only_while_stopping(connect, connection, rows):
    """And then loudly. The row comes back when its lease runs out."""
    await rows.add(connection)
    stop = asyncio.Event()
    away = False

    class Away:
        """A database that goes away after the claim."""

        async def __aenter__(self):
            if away:
                raise psycopg.OperationalError("away")
            self.lent = connect()
            return await self.lent.__aenter__()

        async def __aexit__(self, *error):
            await self.lent.__aexit__(*error)

    async def act(_delivery: Delivery) -> None:
        nonlocal away
        away = True
        stop.set()

    policy = Policy(lease_s=50, send_timeout_s=10, send_margin_s=10, stop_s=0.2)
    work = Turn(Away, {"page": Sender(act)}, policy, holder="me")
    with pytest.raises(SettleAbandonedError, match="outcomes of"):
        await work.take(stop)


async def test_attempts_end_in_dead(turn, connection, rows):
    """Five failures, and no sixth attempt."""

    async def fail(_delivery: Delivery) -> None:
        raise ConnectionError("down")

    [number] = await rows.add(connection)
    work, sender = turn(fail)
    for _ in range(7):
        await work.take(asyncio.Event())
        await rows.make_due(connection)
    assert len(sender.given) == 5
    row = await rows.read(connection, number)
    assert (row["status"], row["attempts"]) == ("dead", 5)


async def test_an_operator_may_settle_beside_a_worker(turn, connection, rows):
    """A row that was settled by hand during the send is not settled again."""
    [number] = await rows.add(connection)

    async def act(delivery: Delivery) -> None:
        await settle(connection, [Settlement(delivery.id, 1, Status.FAILED, "by hand")])

    tally = await turn(act)[0].take(asyncio.Event())
    assert (tally.sent, tally.refused) == (0, 1)
    assert (await rows.read(connection, number))["status"] == "failed"
