"""A delivery commits with the transaction that it belongs to, once for each key."""

import asyncio
from datetime import UTC, datetime, timedelta, timezone

import psycopg
import pytest

from server.outbox import (
    Fault,
    InvalidDeliveryError,
    NewDelivery,
    PayloadTooLargeError,
    enqueue,
    enqueue_sync,
    recount,
)
from server.outbox.model import Status


def new(text: str = "x", key: str | None = None) -> NewDelivery:
    """A delivery for the page."""
    return NewDelivery("page", "page", {"text": text}, idempotency_key=key)


async def test_it_rolls_back_with_the_business_row(connection):
    """No delivery about something that never happened."""

    async def order() -> None:
        async with connection.transaction():
            await enqueue(connection, [new()])
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await order()
    assert (await recount(connection))[Status.PENDING] == 0


async def test_a_second_key_returns_the_first_row(connection, rows):
    """And leaves it as it is."""
    [first] = await enqueue(connection, [new("first", "order-17")])
    [second] = await enqueue(connection, [new("second", "order-17")])
    assert second == first
    assert (await rows.read(connection, first))["payload"] == {"text": "first"}


async def test_ids_come_in_the_given_order(connection, rows):
    """With and without keys, known and new, in one call."""
    [known] = await enqueue(connection, [new("known", "k")])
    ids = await enqueue(connection, [new("a"), new("b", "k"), new("c", "l"), new("d")])
    assert ids[1] == known
    texts = [(await rows.read(connection, number))["payload"]["text"] for number in ids]
    assert texts == ["a", "known", "c", "d"]


async def test_one_key_twice_in_one_call_is_one_row(connection):
    """The first of them."""
    first, second = await enqueue(connection, [new("a", "k"), new("b", "k")])
    assert first == second


async def test_two_connections_with_one_key_get_one_row(connect, connection):
    """The second waits for the first to commit, and then finds it."""
    async with connect() as one, connect() as two:
        async with one.transaction():
            [first] = await enqueue(one, [new("a", "k")])
            second = asyncio.create_task(enqueue(two, [new("b", "k")]))
            await _until_one_waits(connection)
        assert await second == [first]


async def _until_one_waits(connection):
    """Returns once somebody in this database waits for a lock."""
    async with asyncio.timeout(60):
        while True:
            cursor = await connection.execute(
                "select 1 from pg_stat_activity"
                " where datname = current_database() and wait_event_type = 'Lock'"
            )
            if await cursor.fetchone():
                return


async def test_a_snapshot_too_old_to_see_the_first_row_is_told_by_the_database(connect):
    """Nothing is invented where the row cannot be seen."""
    async with connect() as one, connect() as two, two.transaction():
        await two.execute("set transaction isolation level repeatable read")
        await two.execute("select 1 from notifications.migrations")
        await enqueue(one, [new("a", "k")])
        with pytest.raises(psycopg.errors.SerializationFailure):
            await enqueue(two, [new("b", "k")])


async def test_workers_are_notified_at_commit(connect, connect_directly):
    """Not before: a worker that woke earlier would find nothing."""
    async with connect() as one, connect_directly() as listener:
        await listener.execute("listen notification_deliveries")
        async with one.transaction():
            await enqueue(one, [new()])
            assert [n async for n in listener.notifies(timeout=0)] == []
        heard = [n async for n in listener.notifies(timeout=60, stop_after=1)]
        assert len(heard) == 1


async def test_the_payload_survives_as_it_was(connection, rows):
    """Any JSON, any script, control characters included."""
    payload = {"text": 'Grüße 👋\n\t"\\', "n": 1.5, "deep": {"list": [None, True]}}
    [number] = await enqueue(connection, [NewDelivery("page", "Zoë", payload)])
    row = await rows.read(connection, number)
    assert (row["payload"], row["recipient"]) == (payload, "Zoë")


async def test_a_thousand_at_once_are_one_statement_for_the_counts(connection):
    """One delta, not a thousand."""
    await enqueue(connection, [new()] * 1000)
    cursor = await connection.execute("select status, change from notifications.depth_deltas")
    assert await cursor.fetchall() == [("pending", 1000)]


def test_a_plain_connection_enqueues_in_its_own_transaction(database):
    """The same rules as over an asynchronous one: order, keys, rollback."""
    with psycopg.connect(database) as plain:
        [known] = enqueue_sync(plain, [new("known", "k")])
        plain.commit()
        ids = enqueue_sync(plain, [new("a"), new("b", "k"), new("c")])
        plain.rollback()
        assert ids[1] == known
        rows = plain.execute("select id from notifications.notification_deliveries").fetchall()
    assert rows == [(known,)]


async def test_send_at_is_the_time_it_falls_due(connection, rows):
    """Whatever zone it is given in."""
    when = datetime(2126, 5, 4, 9, 30, tzinfo=timezone(timedelta(hours=5, minutes=45)))
    [number] = await enqueue(connection, [NewDelivery("page", "page", {}, send_at=when)])
    assert (await rows.read(connection, number))["next_attempt_at"] == when
    assert await rows.take(connection) == []


async def test_a_time_that_has_passed_means_now(connection, rows):
    """It does not get ahead of what has waited for longer."""
    [first] = await enqueue(connection, [new("first")])
    past = datetime(2001, 1, 1, tzinfo=UTC)
    [second] = await enqueue(connection, [NewDelivery("page", "page", {}, send_at=past)])
    assert [d.id for d in await rows.take(connection)] == [first, second]


SNOWMAN = "\N{SNOWMAN}"


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("channel", {"channel": ""}),
        ("channel", {"channel": "x" * 201}),
        ("channel", {"channel": 7}),
        ("recipient", {"recipient": ""}),
        ("recipient", {"recipient": "a\0b"}),
        ("idempotency_key", {"idempotency_key": ""}),
        ("idempotency_key", {"idempotency_key": "k" * 501}),
        ("delay_s", {"delay_s": -1}),
        ("delay_s", {"delay_s": float("nan")}),
        ("delay_s", {"delay_s": float("inf")}),
        ("delay_s", {"delay_s": "soon"}),
        ("send_at", {"send_at": datetime(2026, 1, 1)}),  # noqa: DTZ001 - that is the fault
        ("send_at", {"send_at": datetime(2026, 1, 1, tzinfo=UTC), "delay_s": 1}),
        ("payload", {"payload": ["a list"]}),
        ("payload", {"payload": {"n": float("nan")}}),
        ("payload", {"payload": {"t": datetime(2026, 1, 1, tzinfo=UTC)}}),
        ("payload", {"payload": {1: "a key that is no text"}}),
        ("payload", {"payload": {"a\0": 1}}),
        ("payload.deep.1.text", {"payload": {"deep": [0, {"text": "\0"}]}}),
        ("payload.text", {"payload": {"text": "\ud800"}}),
    ],
    ids=range(20),
)
async def test_what_cannot_be_enqueued_is_named(connection, field, changes):
    """The place in the call and the field; and nothing of the call is written."""
    good = {"channel": "page", "recipient": "page", "payload": {}}
    with pytest.raises(InvalidDeliveryError) as caught:
        await enqueue(connection, [new(), NewDelivery(**(good | changes))])
    assert (caught.value.place, [fault.field for fault in caught.value.faults]) == (1, [field])
    assert (await recount(connection))[Status.PENDING] == 0


async def test_a_payload_too_large_is_refused(connection):
    """Bytes count, not characters; the largest that is taken is taken."""
    room = 1000 - len('{"t": ""}')
    fits = NewDelivery("page", "page", {"t": SNOWMAN * (room // 3) + "x" * (room % 3)})
    assert len(await enqueue(connection, [fits], most_bytes=1000)) == 1
    wide = NewDelivery("page", "page", {"t": SNOWMAN * (room // 3 + 1)})
    with pytest.raises(PayloadTooLargeError, match="payload: has"):
        await enqueue(connection, [wide], most_bytes=1000)


class Pigeons:
    """A channel that knows beforehand where no pigeon flies."""

    @staticmethod
    def check(recipient, payload):
        """All that is wrong, by field."""
        if recipient == "the moon":
            yield Fault("recipient", "is too far")
        if "ring" not in payload:
            yield Fault("payload.ring", "is missing")


async def test_a_channel_is_asked_before_anything_is_written(connection):
    """All that it says is told, and other channels' deliveries are none of its business."""
    checks = {"pigeon": Pigeons.check}
    fits = NewDelivery("pigeon", "the roof", {"ring": 7})
    assert len(await enqueue(connection, [fits, new()], checks=checks)) == 2
    with pytest.raises(InvalidDeliveryError) as caught:
        await enqueue(connection, [fits, NewDelivery("pigeon", "the moon", {})], checks=checks)
    assert caught.value.place == 1
    assert str(caught.value) == "delivery 1: recipient: is too far; payload.ring: is missing"
    assert [fault.field for fault in caught.value.faults] == ["recipient", "payload.ring"]
    assert (await recount(connection))[Status.PENDING] == 2


async def test_a_payload_that_holds_itself_is_refused(connection):
    """Without running for ever."""
    endless: dict[str, object] = {}
    endless["again"] = endless
    with pytest.raises(InvalidDeliveryError, match="payload: is no JSON"):
        await enqueue(connection, [NewDelivery("page", "page", endless)])
