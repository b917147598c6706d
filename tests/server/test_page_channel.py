"""The channel "page" really delivers somewhere, and shows a duplicate as one."""

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
