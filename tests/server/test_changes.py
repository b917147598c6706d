"""The change log: what it tells, and that nothing is skipped or repeated."""

import asyncio
import contextlib
import os

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.outbox import Settlement, Status, claim, extend, reap, release, settle
from server.outbox.changes import (
    CHANGES,
    cursor_now,
    purge_changes,
    queue_now,
    read_changes,
    record_changes,
)
from server.outbox.cursor import Cursor, Snapshot, UnreadableCursorError
from server.outbox.housekeeping import housekeeping
from server.outbox.operations import cancel, retry
from tests.conftest import Place

EVENTS = "notifications.delivery_events"
TABLE = "notifications.notification_deliveries"


@pytest.fixture
def place(emptied: Place) -> Place:
    """One for the file: making one for each test would take longer than the tests."""
    return emptied


@pytest.fixture
async def cursor(connection) -> Cursor:
    """Changes are being written, and this is where they begin."""
    await record_changes(connection, for_s=600)
    return await cursor_now(connection)


async def _all(connection, cursor, limit=200):
    """Every change after the cursor, and the cursor after them."""
    found = []
    while True:
        page = await read_changes(connection, cursor, limit=limit)
        assert page is not None
        found += page.changes
        cursor = page.cursor
        if page.caught_up:
            return found, cursor


def _told(changes):
    return [(c.change, c.from_status, c.to_status, c.attempt) for c in changes]


async def test_a_delivery_that_is_sent(connection, rows, cursor):
    """Each step with the attempt, who holds it and until when."""
    delivery = await rows.take_one(connection, holder="ada")
    assert await extend(connection, [delivery], lease_s=300) == {delivery.id}
    await settle(connection, [Settlement(delivery.id, 1, Status.SENT, provider_id="p")])
    changes, _ = await _all(connection, cursor)
    assert _told(changes) == [
        ("enqueue", None, "pending", 0),
        ("claim", "pending", "processing", 1),
        ("extend", "processing", "processing", 1),
        ("settle", "processing", "sent", 1),
    ]
    assert {(c.delivery_id, c.channel, c.max_attempts) for c in changes} == {
        (delivery.id, "page", 5)
    }
    assert [c.holder for c in changes] == [None, "ada", "ada", "ada"]
    assert changes[1].lease_expires_at == delivery.lease_expires_at
    assert changes[2].lease_expires_at > changes[1].lease_expires_at
    assert (changes[3].outcome, changes[3].verdict) == ("sent", "applied")
    assert changes[3].lease_expires_at is None
    assert [c.seq for c in changes] == sorted(c.seq for c in changes)


async def test_every_other_way(connection, rows, cursor):
    """A failed attempt, a hand-back, a lost lease, the operator, somebody by hand."""
    delivery = await rows.take_one(connection)
    await settle(connection, [Settlement(delivery.id, 1, Status.PENDING, "no", 0.0, "timeout")])
    await rows.make_due(connection)
    assert await release(connection, await rows.take(connection)) == {delivery.id}
    await rows.take(connection)
    await rows.expire(connection)
    await reap(connection)
    await cancel(connection, [delivery.id])
    await retry(connection, [delivery.id])
    [taken] = await rows.take(connection)
    refused = Settlement(delivery.id, taken.attempt, Status.FAILED, "no", code="x")
    await settle(connection, [refused])
    await retry(connection, [delivery.id])
    [taken] = await rows.take(connection)
    await settle(connection, [Settlement(delivery.id, taken.attempt, Status.DEAD, "no")])
    changes, _ = await _all(connection, cursor)
    assert _told(changes) == [
        ("enqueue", None, "pending", 0),
        ("claim", "pending", "processing", 1),
        ("settle", "processing", "pending", 1),
        ("edit", "pending", "pending", 1),
        ("claim", "pending", "processing", 2),
        ("release", "processing", "pending", 2),
        ("claim", "pending", "processing", 3),
        ("extend", "processing", "processing", 3),
        ("reap", "processing", "pending", 3),
        ("cancel", "pending", "failed", 3),
        ("retry", "failed", "pending", 3),
        ("claim", "pending", "processing", 4),
        ("settle", "processing", "failed", 4),
        ("retry", "failed", "pending", 4),
        ("claim", "pending", "processing", 5),
        ("settle", "processing", "dead", 5),
    ]
    ended = [(c.outcome, c.code, c.error) for c in changes if c.outcome]
    assert ended[0] == ("failed", "timeout", "no")
    assert ended[1] == ("released", None, None)
    assert ended[2][:2] == ("lost", "lease-lost")
    assert ended[3:] == [("refused", "x", "no"), ("failed", None, "no")]


async def test_late_writes(connection, rows, cursor):
    """One that is refused, with both attempts; one that is true and is accepted."""
    late = await rows.take_one(connection, holder="late")
    await rows.expire(connection)
    await reap(connection)
    await rows.take(connection, holder="second")
    await settle(connection, [Settlement(late.id, 1, Status.SENT)], holder="late")
    await rows.expire(connection)
    await reap(connection)
    await settle(connection, [Settlement(late.id, 2, Status.SENT)], holder="second")
    changes, _ = await _all(connection, cursor)
    refused = changes[-4]
    assert (refused.change, refused.attempt, refused.current_attempt) == ("refuse", 1, 2)
    assert (refused.holder, refused.to_status) == ("late", "processing")
    assert (refused.outcome, refused.verdict) == ("sent", "refused")
    accepted = changes[-1]
    assert (accepted.change, accepted.from_status, accepted.to_status) == (
        ("settle", "pending", "sent")
    )
    assert (accepted.verdict, accepted.attempt) == ("late", 2)


async def test_a_roll_back_tells_nothing(connection, rows, cursor):
    """What did not happen is not told."""
    with contextlib.suppress(ZeroDivisionError):
        async with connection.transaction():
            await rows.add(connection, 3)
            raise ZeroDivisionError
    assert (await _all(connection, cursor))[0] == []


async def test_transactions_that_commit_in_the_opposite_order(connect, connection, rows, cursor):
    """The one with the lower numbers commits later: it is told then, and nothing comes twice."""
    async with connect() as slow, connect() as fast:
        await slow.execute("begin")
        [first] = await rows.add(slow)
        await fast.execute("begin")
        [second] = await rows.add(fast)
        await fast.execute("commit")
        seen, cursor = await _all(connection, cursor)
        assert [c.delivery_id for c in seen] == [second]
        await rows.add(connection)
        await slow.execute("commit")
        then, cursor = await _all(connection, cursor)
    assert sorted(c.delivery_id for c in then) == [first, second + 1]
    assert min(c.seq for c in then) < seen[0].seq
    assert (await _all(connection, cursor))[0] == []


async def test_an_old_transaction_that_takes_what_a_younger_one_added(
    connect, connection, rows, cursor
):
    """Told in the order in which it happened, which is not that of the transactions' numbers."""
    async with connect() as old:
        await old.execute("begin")
        await old.execute("select pg_current_xact_id()")
        [number] = await rows.add(connection)
        [taken] = await rows.take(old)
        assert taken.id == number
        await old.execute("commit")
    changes, _ = await _all(connection, cursor)
    assert [c.change for c in changes] == ["enqueue", "claim"]
    assert changes[0].written_by > changes[1].written_by


@pytest.mark.parametrize("limit", [1, 3, 7, 10])
async def test_a_look_that_does_not_fit(connection, rows, cursor, limit):
    """It is continued where it was left, and what comes meanwhile is told after it."""
    ids = await rows.add(connection, 10)
    page = await read_changes(connection, cursor, limit=limit)
    assert not page.caught_up
    later = await rows.add(connection, 2)
    rest, end = await _all(connection, Cursor.parse(str(page.cursor)), limit)
    assert [c.delivery_id for c in (*page.changes, *rest)] == ids + later
    assert (await _all(connection, end))[0] == []


async def test_every_prefix_can_be_resumed(connect, connection, rows, cursor):
    """Whatever the order of commits, reading on from any cursor gives exactly the rest."""
    async with connect() as a, connect() as b:
        for one in (a, b):
            await one.execute("begin")
            await rows.add(one, 2)
        cursors, told = [cursor], [[]]

        async def read_on():
            while True:
                page = await read_changes(connection, cursors[-1], limit=2)
                cursors.append(Cursor.parse(str(page.cursor)))
                told.append([c.seq for c in page.changes])
                if page.caught_up:
                    return

        await rows.add(connection, 3)
        await read_on()
        await rows.add(a, 3)
        await b.execute("commit")
        await read_on()
        await a.execute("commit")
        await read_on()
    whole = [seq for some in told for seq in some]
    assert len(whole) == len(set(whole)) == 10
    for place, one in enumerate(cursors):
        rest = [seq for some in told[place + 1 :] for seq in some]
        found, _ = await _all(connection, one, limit=3)
        assert sorted(c.seq for c in found) == sorted(rest)


@pytest.mark.usefixtures("cursor")
async def test_the_counts_and_what_follows_them(connect, connection, rows):
    """What is counted is not told again, what is not counted is told: also across an open one."""
    await rows.add(connection, 2)
    [held] = await rows.take(connection, 1, holder="ada")
    async with connect() as other:
        await other.execute("begin")
        [number] = await rows.add(other)
        now = await queue_now(connection)
        assert (now.depth.pending, now.depth.processing) == (1, 1)
        assert [(h.id, h.attempt, h.holder) for h in now.held] == [(held.id, 1, "ada")]
        await other.execute("commit")
    changes, _ = await _all(connection, now.cursor)
    assert [c.delivery_id for c in changes] == [number]


async def test_nothing_is_written_unless_somebody_wants_it(connection, rows):
    """And after the time is over no more."""
    await rows.take_one(connection)
    assert await _count(connection) == 0
    assert await read_changes(connection, await cursor_now(connection)) is None
    assert await record_changes(connection, for_s=600) is False
    assert await record_changes(connection, for_s=1) is True
    await rows.add(connection)
    assert await _count(connection) == 1
    await connection.execute("update notifications.event_log set recorded_until = now()")
    await rows.add(connection)
    assert await _count(connection) == 1


async def _count(connection) -> int:
    cursor = await connection.execute(f"select count(*) from {EVENTS}".encode())
    [number] = await cursor.fetchone()
    return number


async def test_a_cursor_from_before_a_pause_is_of_no_use(connection, cursor):
    """What happened in between was not written, so it says so."""
    assert await read_changes(connection, cursor) is not None
    await connection.execute("update notifications.event_log set recorded_until = now()")
    assert await read_changes(connection, cursor) is None
    assert await record_changes(connection, for_s=600) is False
    assert await read_changes(connection, cursor) is None
    assert await read_changes(connection, await cursor_now(connection)) is not None


async def test_who_was_at_work_when_the_writing_began(connect, connection, rows):
    """Its changes are missing, so whoever began meanwhile begins once more when it ends."""
    async with connect() as early:
        await early.execute("begin")
        await rows.add(early)
        await record_changes(connection, for_s=600)
        cursor = await cursor_now(connection)
        assert await read_changes(connection, cursor) is not None
        await early.execute("commit")
    assert await read_changes(connection, cursor) is None


async def _until_blocked(connection) -> None:
    """Waits until somebody in this database waits for a lock."""
    async with asyncio.timeout(60):
        while True:
            cursor = await connection.execute(
                "select from pg_stat_activity where datname = current_database()"
                " and wait_event_type = 'Lock'"
            )
            if cursor.rowcount:
                return
            await asyncio.sleep(0.02)


async def test_who_came_while_the_writing_began(connect, connection, rows):
    """It saw that nothing is to be written; its number is above that of who said otherwise."""
    await record_changes(connection, for_s=0)
    async with connect() as other, connect() as recorder, connect() as late:
        await other.execute("begin")
        await other.execute("select from notifications.event_log for update")
        recording = asyncio.create_task(record_changes(recorder, for_s=600))
        await _until_blocked(connection)
        await late.execute("begin")
        await rows.add(late)
        await other.execute("commit")
        assert await recording is False
        cursor = await cursor_now(connection)
        assert await read_changes(connection, cursor) is not None
        await late.execute("commit")
    assert await _count(connection) == 0
    assert await read_changes(connection, cursor) is None


@pytest.mark.usefixtures("cursor")
async def test_counts_and_cursor_are_of_one_instant(connect, connection, rows):
    """A claim that is committed between two of the looks is in none of them."""
    await rows.add(connection)
    async with connect() as claimer, connect() as reader:
        await claimer.execute("begin")
        await claimer.execute("lock table notifications.depth_deltas")
        [taken] = await rows.take(claimer)
        looking = asyncio.create_task(queue_now(reader))
        await _until_blocked(connection)
        await claimer.execute("commit")
        now = await looking
    assert (now.held, now.depth.processing) == ([], 0)
    changes, _ = await _all(connection, now.cursor)
    assert [(c.change, c.delivery_id) for c in changes] == [("claim", taken.id)]


@pytest.mark.parametrize("recorded", [True, False], ids=["recorded", "unrecorded"])
async def test_who_has_no_rights_on_the_log(connect_directly, connection, rows, recorded):
    """A program from before the log goes on beside it, and what it does is told."""
    role = f"from_before_{os.getpid()}"
    await record_changes(connection, for_s=600 if recorded else 0)
    await connection.execute(
        f"create role {role};"
        f" grant usage on schema notifications to {role};"
        f" grant all on {TABLE}, notifications.delivery_attempts, notifications.depth_deltas,"
        f" notifications.paused_channels to {role}".encode()
    )
    try:
        async with connect_directly() as other:
            await other.execute(f"set role {role}".encode())
            late = await rows.take_one(other)
            await rows.expire(other)
            await reap(other)
            await rows.take(other)
            await settle(other, [Settlement(late.id, 1, Status.SENT)])
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                await _count(other)
        assert await _count(connection) == (6 if recorded else 0)
    finally:
        await connection.execute(f"drop owned by {role}".encode())
        await connection.execute(f"drop role {role}".encode())


async def test_what_is_old_is_deleted(connection, rows, cursor):
    """The oldest first, in batches; who has not read them is told so, the others go on."""
    await rows.add(connection, 4)
    _, after_four = await _all(connection, cursor)
    await rows.add(connection, 6)
    _, end = await _all(connection, after_four)
    assert await purge_changes(connection, keep=5, limit=3) == 3
    assert await read_changes(connection, cursor) is None
    assert len((await _all(connection, after_four))[0]) == 6
    assert await purge_changes(connection, keep=5, limit=3) == 2
    assert await purge_changes(connection, keep=5, limit=3) == 0
    assert await read_changes(connection, after_four) is None
    assert (await _all(connection, end))[0] == []
    await connection.execute(f"update {EVENTS} set at = at - interval '2 hours'".encode())
    await housekeeping(connection)
    assert await _count(connection) == 0


async def test_deleting_beside_a_transaction_that_stays_open(connect, connection, rows, cursor):
    """Its changes come when it ends, or whoever waits for them is told that they might be gone."""
    async with connect() as slow:
        await slow.execute("begin")
        await rows.add(slow, 1)
        await rows.add(connection, 5)
        _, cursor = await _all(connection, cursor)
        await purge_changes(connection, keep=0)
        await rows.add(connection, 1)
        more, cursor = await _all(connection, cursor)
        assert len(more) == 1
        await slow.execute("commit")
    assert await read_changes(connection, cursor) is None


@pytest.mark.parametrize(
    "text",
    ["1:999999999999:", "18446744073709551615:18446744073709551616:"],
    ids=["ahead", "beyond"],
)
@pytest.mark.usefixtures("cursor")
async def test_a_cursor_of_another_database(connection, text):
    """It knows of transactions that have not been here."""
    with contextlib.suppress(UnreadableCursorError):
        assert await read_changes(connection, Cursor.parse(text)) is None


@pytest.mark.usefixtures("cursor")
async def test_a_reader_is_woken(connect_directly, connection, rows):
    """By a notification with each transaction that changes something."""
    async with connect_directly() as ear:
        await ear.execute(f"listen {CHANGES}".encode())
        await rows.add(connection, 2)
        async with asyncio.timeout(60):
            async for one in ear.notifies():
                assert one.channel == CHANGES
                break


@pytest.mark.usefixtures("cursor")
async def test_claiming_nothing_tells_nothing(connect_directly, connection):
    """Workers that poll do not wake whoever watches."""
    async with connect_directly() as ear:
        await ear.execute(f"listen {CHANGES}".encode())
        await claim(connection, holder="a", channels=["page"], limit=1, lease_s=9)
        await reap(connection)
        await connection.execute("select pg_notify('delivery_events', 'end')")
        async for one in ear.notifies(timeout=60):
            assert one.payload == "end"
            break


snapshots = st.builds(
    lambda xmin, gaps, more: Snapshot(
        xmin, xmin + sum(gaps) + more, tuple(xmin + sum(gaps[:n]) for n in range(len(gaps)))
    ),
    st.integers(1, 1 << 40),
    st.lists(st.integers(1, 9), max_size=5),
    st.integers(0, 9),
)


@given(seen=snapshots, upto=st.none() | snapshots, seq=st.integers(0, 10**17))
def test_a_cursor_is_read_as_it_was_written(seen, upto, seq):
    """Whatever it names."""
    cursor = Cursor(seen, upto, 0 if upto is None else seq)
    assert Cursor.parse(str(cursor)) == cursor


@given(st.text(alphabet="0123456789:,/x ", max_size=30))
def test_what_is_read_is_what_would_be_written(text):
    """Anything else is refused by its own error."""
    with contextlib.suppress(UnreadableCursorError):
        assert str(Cursor.parse(text)) == text


async def test_a_snapshot_sees_what_the_database_says_it_sees(connection):
    """The same rule here as in PostgreSQL."""
    for text in ("5:9:6,8", "5:5:", "5:9:", "5:9:5"):
        for number in range(3, 12):
            cursor = await connection.execute(
                "select pg_visible_in_snapshot(%s::text::xid8, %s::pg_snapshot)",
                (str(number), text),
            )
            assert await cursor.fetchone() == (Snapshot.parse(text).sees(number),), (text, number)
