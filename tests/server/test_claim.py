"""A claim takes what is due, in order, within its limit, and never what another has."""

import asyncio
import random

import pytest

from server.outbox import claim, settle
from server.outbox.model import Settlement, Status
from tests.server.reading import reading


async def test_several_connections_never_take_the_same_delivery(connect, rows):
    """Eight claimants with odd limits empty a queue of 500 and each row went to one of them."""
    async with connect() as connection:
        ids = await rows.add(connection, 500)

    together = asyncio.Barrier(8)

    async def claimant(seed: int) -> list[int]:
        chance = random.Random(seed)
        taken = []
        async with connect() as connection:
            await together.wait()
            while True:
                batch = await rows.take(connection, chance.randint(1, 40), holder=str(seed))
                if not batch:
                    return taken
                taken += [delivery.id for delivery in batch]
                await asyncio.sleep(0)

    taken = await asyncio.gather(*(claimant(seed) for seed in range(8)))
    assert sorted(number for one in taken for number in one) == ids
    assert sum(1 for one in taken if one) > 1, "only one claimant ever got anything"


TEMPTING = """
update notifications.notification_deliveries as d
   set status = 'processing', attempts = d.attempts + 1, holder = 'x',
       lease_expires_at = clock_timestamp() + interval '5 minutes'
  from (select id from notifications.notification_deliveries
         where status = 'pending' and next_attempt_at <= statement_timestamp()
         order by next_attempt_at, created_at, id
         limit 25 for update skip locked) as due
 where d.id = due.id
returning d.id
"""


async def _burst_after_analysis(connection, rows, burst: int) -> None:
    """Statistics that were taken while the queue was all but empty, then a burst."""
    await rows.add(connection, 1)
    await connection.execute("analyze notifications.notification_deliveries")
    await rows.add(connection, burst)


@pytest.mark.parametrize("burst", [40, 100])
async def test_never_more_than_the_limit_after_a_burst(connection, rows, burst):
    """The usual state of a healthy queue: stale statistics, then many rows at once."""
    await _burst_after_analysis(connection, rows, burst)
    assert len(await rows.take(connection, 25)) == 25


async def test_the_tempting_form_exceeds_its_limit(connection, rows):
    """Kept as the counter-example: with a sub-select in FROM the same burst is claimed whole."""
    await _burst_after_analysis(connection, rows, 40)
    cursor = await connection.execute(TEMPTING.encode())
    assert len(await cursor.fetchall()) == 41


async def test_order_is_due_time_then_age(connection, rows):
    """What has been due for longer comes first; among equals the older one."""
    first, second, third = await rows.add(connection, 3)
    await connection.execute(
        "update notifications.notification_deliveries set next_attempt_at = created_at"
    )
    await connection.execute(
        "update notifications.notification_deliveries"
        " set next_attempt_at = next_attempt_at - interval '1 hour' where id = %s",
        (third,),
    )
    # Of two that fell due at the same moment, the older one.
    await connection.execute(
        "update notifications.notification_deliveries"
        " set next_attempt_at = (select next_attempt_at"
        " from notifications.notification_deliveries where id = %s) where id = %s",
        (second, first),
    )
    taken = [(await rows.take(connection, 1))[0].id for _ in range(3)]
    assert taken == [third, first, second]


async def test_what_is_due_later_is_left(connection, rows):
    """A delay is kept."""
    await rows.add(connection, delay_s=60)
    assert await rows.take(connection) == []


async def test_unknown_channels_are_left_alone(connection, rows):
    """A worker takes what it can send; the rest waits for one that can."""
    [stranger] = await rows.add(connection, channel="pigeon")
    [known] = await rows.add(connection)
    assert [d.id for d in await rows.take(connection)] == [known]
    row = await rows.read(connection, stranger)
    assert (row["status"], row["attempts"]) == ("pending", 0)


async def test_a_claim_counts_the_attempt_and_sets_the_lease(connection, rows):
    """The row says who holds it, under which attempt, and until when."""
    delivery = await rows.take_one(connection, lease_s=300, holder="me")
    row = await rows.read(connection, delivery.id)
    assert (row["status"], row["attempts"], row["holder"]) == ("processing", 1, "me")
    left = row["lease_expires_at"] - row["attempted_at"]
    assert 299 < left.total_seconds() < 301


async def test_a_locked_row_is_skipped_and_not_waited_for(connect, connection, rows):
    """A row that a transaction holds is passed over."""
    first, second = await rows.add(connection, 2)
    async with connect() as other, other.transaction():
        await other.execute(
            "select 1 from notifications.notification_deliveries where id = %s for update",
            (first,),
        )
        assert [d.id for d in await rows.take(connection)] == [second]


async def test_the_claim_finds_its_rows_by_the_index_of_their_channel(connection, rows):
    """With many rows sent and few pending: the partial index of that name, then each by its id."""
    await rows.add(connection, 2000)
    while batch := await rows.take(connection, 500):
        await settle(connection, [Settlement(d.id, d.attempt, Status.SENT) for d in batch])
    await rows.add(connection, 5)
    await connection.execute("analyze notifications.notification_deliveries")
    async with reading(connection) as read:
        assert len(await rows.take(connection, 25)) == 5
    assert read.indexes == {"notification_deliveries_by_channel", "notification_deliveries_pkey"}
    assert (read.rows, read.whole) == (10, 0)


async def test_the_pick_stands_in_a_materialised_query(connection):
    """The word is what keeps a planner from running the pick again for each row."""
    cursor = await connection.execute("select pg_get_functiondef('notifications.claim'::regproc)")
    [text] = await cursor.fetchone()
    assert "as materialized" in text


async def test_the_order_is_one_over_all_channels(connection, rows):
    """Whichever channel a row is of, and whatever is due beside it; equal times by age, then id."""
    chance = random.Random(4)
    for channel in ("a", "b", "c", "stranger"):
        await rows.add(connection, 40, channel=channel)
    times = [chance.randrange(60) for _ in range(160)]
    await connection.execute(
        "update notifications.notification_deliveries as d"
        " set next_attempt_at = now() - make_interval(mins => t.ago)"
        "   , created_at = now() - make_interval(mins => t.ago %% 3)"
        " from unnest(%s::int[]) with ordinality as t(ago, place) where d.id = t.place",
        (times,),
    )
    cursor = await connection.execute(
        "select id from notifications.notification_deliveries where channel <> 'stranger'"
        " order by next_attempt_at, created_at, id"
    )
    expected = [number for (number,) in await cursor.fetchall()]
    taken = []
    while batch := await claim(
        connection, holder="h", channels=["a", "b", "c"], limit=7, lease_s=60
    ):
        assert len(batch) == min(7, len(expected) - len(taken))
        taken += [delivery.id for delivery in batch]
    assert taken == expected
