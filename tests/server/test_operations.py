"""What an operator does by hand."""

import asyncio
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from server.outbox import (
    InvalidCursorError,
    NewDelivery,
    Settlement,
    Status,
    cancel,
    enqueue,
    list_channels,
    list_deliveries,
    pause_channel,
    resume_channel,
    retry,
    retry_matching,
    settle,
    show_delivery,
)
from server.outbox.statements import statement

TABLE = "notifications.notification_deliveries"
LATER = timedelta(seconds=1)


async def _end(connection, rows, status: Status, count: int = 1) -> list[int]:
    """Adds deliveries that have ended, each with one attempt of five."""
    await rows.add(connection, count)
    batch = await rows.take(connection, count)
    error = None if status is Status.SENT else "no"
    await settle(connection, [Settlement(d.id, d.attempt, status, error) for d in batch])
    return [d.id for d in batch]


async def _pages(connection, limit: int, **options) -> list[int]:
    ids, cursor = [], None
    while True:
        page = await list_deliveries(connection, cursor=cursor, limit=limit, **options)
        assert len(page.deliveries) <= limit
        ids += [d.id for d in page.deliveries]
        if page.cursor is None:
            return ids
        assert len(page.deliveries) == limit
        cursor = page.cursor


async def test_every_list_has_every_row_once_in_its_order(connection, rows):
    """By pages of each size, also where several rows carry the same time."""
    ended = {
        status: await _end(connection, rows, status, 5)
        for status in (Status.SENT, Status.FAILED, Status.DEAD)
    }
    await rows.add(connection, 4)
    held = [d.id for d in await rows.take(connection, 4)]
    waiting = await rows.add(connection, 5)
    later = await rows.add(connection, 2, delay_s=60)
    await connection.execute(f"update {TABLE} set settled_at = '2026-01-01' where id % 2 = 0"
                             " and settled_at is not null".encode())  # fmt: skip
    cursor = await connection.execute(
        f"select status, array_agg(id order by settled_at desc, id desc) from {TABLE}"
        " where settled_at is not null group by status".encode()
    )
    orders = {Status(status): ids for status, ids in await cursor.fetchall()}
    everything = [n for ids in ended.values() for n in ids] + held + waiting + later
    for limit in (1, 2, 3, 50):
        for status, order in orders.items():
            assert await _pages(connection, limit, status=status) == order
        assert await _pages(connection, limit, status=Status.PENDING) == waiting + later
        assert await _pages(connection, limit, status=Status.PROCESSING) == held
        assert await _pages(connection, limit) == sorted(everything, reverse=True)


async def test_a_page_stays_put_while_rows_move(connection, rows):
    """What leaves between two pages makes nothing else be skipped or come twice."""
    ids = await _end(connection, rows, Status.DEAD, 6)
    first = await list_deliveries(connection, status=Status.DEAD, limit=3)
    await retry(connection, [first.deliveries[0].id, first.deliveries[2].id])
    second = await list_deliveries(connection, status=Status.DEAD, limit=3, cursor=first.cursor)
    seen = [d.id for d in first.deliveries + second.deliveries]
    assert sorted(seen) == sorted(ids)


async def test_a_list_by_channel(connection, rows):
    """Of every status."""
    await rows.add(connection, 2)
    [pigeon] = await rows.add(connection, channel="pigeon")
    for status in (None, Status.PENDING):
        page = await list_deliveries(connection, status=status, channel="pigeon")
        assert [d.id for d in page.deliveries] == [pigeon]
    assert (await list_deliveries(connection, status=Status.SENT)).deliveries == []


@pytest.mark.parametrize(
    ("status", "cursor"),
    [
        (None, "x"),
        (None, ""),
        (None, "1.2"),
        (None, "-1"),
        (None, str(1 << 63)),
        (None, "٣"),
        (Status.DEAD, "7"),
        (Status.DEAD, "1.2.3"),
        (Status.PENDING, "9" * 40 + ".1"),
        (Status.PENDING, "9" * 5000 + ".1"),
    ],
    ids=range(10),
)
async def test_a_cursor_that_is_none_is_refused(connection, status, cursor):
    """Whatever stands there, it does not reach the database."""
    with pytest.raises(InvalidCursorError):
        await list_deliveries(connection, status=status, cursor=cursor)


async def test_one_delivery_with_its_attempts(connection, rows):
    """Attempts that ended, the one that runs, and nothing for one that is not there."""
    [number] = await rows.add(connection)
    [first] = await rows.take(connection, holder="one")
    await settle(connection, [Settlement(number, first.attempt, Status.PENDING, "no answer")])
    await rows.take(connection, holder="two")
    shown = await show_delivery(connection, number)
    assert shown is not None
    assert (shown.delivery.status, shown.payload) == (Status.PROCESSING, {"text": "x"})
    assert [(a.attempt, a.holder, a.outcome, a.error) for a in shown.attempts] == [
        (1, "one", "failed", "no answer"),
        (2, "two", None, None),
    ]
    assert await show_delivery(connection, number + 1) is None


@pytest.mark.parametrize("status", [Status.FAILED, Status.DEAD])
async def test_retry_gives_another_attempt_and_keeps_the_fence(connection, rows, status):
    """Attempts go on from where they were, and there is room for as many as asked."""
    await rows.add(connection, max_attempts=1)
    [held] = await rows.take(connection)
    await settle(connection, [Settlement(held.id, 1, status, "no")])
    assert await retry(connection, [held.id], more=3) == [held.id]
    [again] = await rows.take(connection)
    assert (again.id, again.attempt, again.max_attempts) == (held.id, 2, 4)


async def test_retry_leaves_alone_what_has_not_ended_so(connection, rows):
    """Sent, waiting, held, or not there at all."""
    [sent] = await _end(connection, rows, Status.SENT)
    held = await rows.take_one(connection)
    [waiting] = await rows.add(connection)
    assert await retry(connection, [sent, held.id, waiting, 10**9]) == []
    assert (await rows.read(connection, held.id))["status"] == "processing"


async def test_retry_by_filter_is_bounded_and_takes_the_oldest(connection, rows):
    """Again and again until nothing is left."""
    ids = await _end(connection, rows, Status.DEAD, 7)
    other = await _end(connection, rows, Status.FAILED)
    assert await retry_matching(connection, Status.DEAD, limit=3) == ids[:3]
    assert await retry_matching(connection, Status.DEAD, limit=3) == ids[3:6]
    assert await retry_matching(connection, Status.DEAD, channel="pigeon") == []
    assert await retry_matching(connection, Status.DEAD, settle_class="no such class") == []
    now = datetime.now(UTC)
    assert await retry_matching(connection, Status.DEAD, settled_since=now + 60 * LATER) == []
    assert await retry_matching(connection, Status.DEAD, settled_before=now - 600 * LATER) == []
    assert await retry_matching(connection, Status.DEAD, limit=3) == ids[6:]
    assert await retry_matching(connection, Status.DEAD, limit=3) == []
    assert (await rows.read(connection, other[0]))["status"] == "failed"
    with pytest.raises(ValueError, match="sent"):
        await retry_matching(connection, Status.SENT)


async def test_retry_by_filter_does_not_wait_for_others(connect, rows):
    """Two operators share the rows."""
    async with connect() as one, connect() as two:
        ids = await _end(one, rows, Status.DEAD, 4)
        async with one.transaction():
            first = await retry_matching(one, Status.DEAD, limit=2)
            second = await retry_matching(two, Status.DEAD, limit=4)
        assert sorted(first + second) == ids


async def test_retry_and_resume_wake_the_workers(connect, connect_directly, rows):
    """Nobody waits for the next poll; a cancel wakes nobody."""
    async with connect() as one, connect_directly() as listener:
        [number] = await _end(one, rows, Status.DEAD)
        [other] = await rows.add(one)
        await listener.execute("listen notification_deliveries")
        assert await cancel(one, [other]) == [other]
        assert [n async for n in listener.notifies(timeout=0)] == []
        await retry(one, [number])
        assert len([n async for n in listener.notifies(timeout=60, stop_after=1)]) == 1
        await pause_channel(one, "page")
        await resume_channel(one, "page")
        assert len([n async for n in listener.notifies(timeout=60, stop_after=1)]) == 1


async def test_cancel_ends_only_what_waits(connection, rows):
    """With a class of its own; a late 'sent' of an attempt before it changes nothing."""
    held = await rows.take_one(connection)
    [sent] = await _end(connection, rows, Status.SENT)
    [waiting] = await rows.add(connection)
    assert await cancel(connection, [held.id, sent, waiting, 10**9]) == [waiting]
    row = await rows.read(connection, waiting)
    assert (row["status"], row["settle_class"]) == ("failed", "cancelled")
    assert row["settled_at"] is not None
    assert await retry(connection, [waiting]) == [waiting]
    assert (await rows.read(connection, waiting))["settle_class"] is None


async def test_a_claim_and_a_cancel_at_once_are_never_both(connect, rows):
    """Whoever comes first has it."""
    async with connect() as one, connect() as two:
        ids = await rows.add(one, 40)
        held, cancelled = await asyncio.gather(rows.take(one, 40), cancel(two, ids))
        assert {d.id for d in held} & set(cancelled) == set()


async def test_the_state_of_channels(connection, rows):
    """Those that wait and those that are paused, and why."""
    await rows.add(connection, 2)
    await rows.add(connection, delay_s=60)
    await pause_channel(connection, "page", reason="the printer is on fire")
    await pause_channel(connection, "page")
    await pause_channel(connection, "pigeon")
    found = {c.channel: (c.pending, c.due, c.reason) for c in await list_channels(connection)}
    assert found == {"page": (3, 2, "the printer is on fire"), "pigeon": (0, 0, None)}
    assert await resume_channel(connection, "pigeon")
    assert not await resume_channel(connection, "pigeon")
    with pytest.raises(psycopg.errors.CheckViolation):
        await pause_channel(connection, "")


async def test_ids_that_do_not_exist_are_nothing_special(connection):
    """No error, no row."""
    assert await retry(connection, []) == []
    assert await cancel(connection, [(1 << 63) - 1]) == []


async def test_lists_use_their_index(connection, rows):
    """With many rows that have been sent, no list reads through them."""
    many = [NewDelivery("page", "page", {})] * 3000
    await enqueue(connection, many)
    while batch := await rows.take(connection, 1000):
        await settle(connection, [Settlement(d.id, d.attempt, Status.SENT) for d in batch])
    await _end(connection, rows, Status.DEAD, 5)
    await connection.execute(f"analyze {TABLE}".encode())
    parameters = {"id": 10**9, "at": datetime.now(UTC), "channel": None, "limit": 50}
    for name in ("list_all", "list_pending", "list_processing", "list_sent", "list_ended"):
        cursor = await connection.execute(
            b"explain " + statement(name), parameters | {"status": "dead"}
        )
        plan = "\n".join(line for (line,) in await cursor.fetchall())
        assert "Index Scan" in plan, (name, plan)
        assert "Seq Scan" not in plan, (name, plan)
