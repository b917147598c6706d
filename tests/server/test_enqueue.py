"""A delivery commits with the transaction that it belongs to, once for each key."""

import asyncio

import psycopg
import pytest

from server.outbox import NewDelivery, enqueue, recount
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


async def test_two_connections_with_one_key_get_one_row(connect):
    """The second waits for the first to commit, and then finds it."""
    async with connect() as one, connect() as two:
        async with one.transaction():
            [first] = await enqueue(one, [new("a", "k")])
            second = asyncio.create_task(enqueue(two, [new("b", "k")]))
            await _until_it_waits(one, two)
        assert await second == [first]


async def _until_it_waits(one, two):
    async with asyncio.timeout(10):
        while True:
            cursor = await one.execute(
                "select cardinality(pg_blocking_pids(%s))", (two.info.backend_pid,)
            )
            if await cursor.fetchone() != (0,):
                return


async def test_a_snapshot_too_old_to_see_the_first_row_is_told_by_the_database(connect):
    """Nothing is invented where the row cannot be seen."""
    async with connect() as one, connect() as two, two.transaction():
        await two.execute("set transaction isolation level repeatable read")
        await two.execute("select 1 from notifications.migrations")
        await enqueue(one, [new("a", "k")])
        with pytest.raises(psycopg.errors.SerializationFailure):
            await enqueue(two, [new("b", "k")])


async def test_workers_are_notified_at_commit(connect):
    """Not before: a worker that woke earlier would find nothing."""
    async with connect() as one, connect() as listener:
        await listener.execute("listen notification_deliveries")
        async with one.transaction():
            await enqueue(one, [new()])
            assert [n async for n in listener.notifies(timeout=0)] == []
        heard = [n async for n in listener.notifies(timeout=10, stop_after=1)]
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
