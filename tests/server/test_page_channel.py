"""The channel "page" really delivers somewhere, and shows a duplicate as one."""

import asyncio
import contextlib
from dataclasses import replace

import pytest

from server.outbox import Refused
from server.outbox.channels.page import PageChannel, page_messages


async def test_a_message_arrives_once_however_often_it_is_sent(connect, connection, rows):
    """The same delivery again is a copy of the message, not another message."""
    delivery = await rows.take_one(connection)
    channel = PageChannel(connect)
    await channel.send(delivery)
    await channel.send(replace(delivery, attempt=2))
    [message] = await page_messages(connection)
    assert (message.delivery_id, message.text) == (delivery.id, "x")
    assert (message.copies, message.attempt) == (2, 2)


@pytest.mark.parametrize("payload", [{}, {"text": ""}, {"text": 3}], ids=str)
async def test_a_payload_without_text_is_refused_for_good(connect, connection, rows, payload):
    """Trying again would not help."""
    delivery = await rows.take_one(connection)
    with pytest.raises(Refused, match="no text"):
        await PageChannel(connect).send(replace(delivery, payload=payload))


async def test_a_reader_never_misses_a_message_that_commits_late(connect, connection, rows):
    """A message with a lower position is still uncommitted: nothing after it is shown yet."""
    first, second = await rows.add(connection, 2)
    insert = (
        "insert into notifications.page_messages (delivery_id, recipient, text, attempt)"
        " values (%s, 'page', 'x', 1)"
    )
    async with connect() as slow:
        async with slow.transaction():
            await slow.execute(insert.encode(), (first,))
            await connection.execute(insert.encode(), (second,))
            assert await page_messages(connection, after=0) == []
        seen = await page_messages(connection, after=0)
    assert [message.delivery_id for message in seen] == [first, second]
    assert await page_messages(connection, after=seen[-1].position) == []


async def test_an_older_transaction_that_draws_its_position_later(connect, connection, rows):
    """It waits for the younger one, or a reader would pass that one's message."""
    ids = await rows.add(connection, 2)
    first, second = [await rows.take(connection, 1) for _ in ids]

    def lending(opened):
        return lambda: contextlib.nullcontext(opened)

    async with connect() as old, connect() as young:
        for one in (old, young):
            await one.execute("begin")
            await one.execute("select pg_current_xact_id()")
        await PageChannel(lending(young)).send(first[0])
        sending = asyncio.create_task(PageChannel(lending(old)).send(second[0]))
        async with asyncio.timeout(60):
            while not (sending.done() or await _waiting(connection)):  # noqa: ASYNC110 - in the server
                await asyncio.sleep(0.02)
        if sending.done():
            await old.execute("commit")
        seen = await page_messages(connection, after=0)
        await young.execute("commit")
        await sending
        await old.execute("commit")
    seen += await page_messages(connection, after=seen[-1].position if seen else 0)
    assert [message.delivery_id for message in seen] == ids


async def _waiting(connection) -> bool:
    cursor = await connection.execute(
        "select from pg_stat_activity"
        " where datname = current_database() and wait_event = 'advisory'"
    )
    return cursor.rowcount > 0


async def test_the_newest_come_without_a_position(connection, rows):
    """Oldest first among them."""
    ids = await rows.add(connection, 5)
    for number in ids:
        await connection.execute(
            "insert into notifications.page_messages (delivery_id, recipient, text, attempt)"
            " values (%s, 'page', 'x', 1)",
            (number,),
        )
    assert [m.delivery_id for m in await page_messages(connection, limit=2)] == ids[3:]
    assert [m.delivery_id for m in await page_messages(connection, after=0, limit=2)] == ids[:2]
