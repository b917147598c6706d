"""Leases run out, are renewed, and are handed back."""

import asyncio

from server.outbox import extend, reap, release, settle
from server.outbox.model import Settlement, Status


async def test_the_reaper_gives_back_what_ran_out_and_only_that(connection, rows):
    """The row is due again; the lost attempt stays counted; a good lease is left alone."""
    lost = await rows.take_one(connection)
    await rows.expire(connection)
    kept = await rows.take_one(connection)
    assert [r.id for r in await reap(connection)] == [lost.id]
    row = await rows.read(connection, lost.id)
    assert (row["status"], row["attempts"], row["holder"]) == ("pending", 1, None)
    assert "the lease of attempt 1, held by a, ran out" in row["last_error"]
    assert (await rows.read(connection, kept.id))["status"] == "processing"


async def test_a_poisonous_row_ends_as_dead(connection, rows):
    """A delivery that kills each worker that takes it does not circle for ever."""
    await rows.add(connection, max_attempts=3)
    for attempt in (1, 2, 3):
        [delivery] = await rows.take(connection)
        assert delivery.attempt == attempt
        await rows.expire(connection)
        await reap(connection)
    assert (await rows.read(connection, delivery.id))["status"] == "dead"
    assert await rows.take(connection) == []


async def test_an_expired_lease_is_not_revived(connection, rows):
    """Even if the reaper has not been there yet."""
    delivery = await rows.take_one(connection)
    await rows.expire(connection)
    assert await extend(connection, [delivery], lease_s=300) == set()


async def test_extending_renews_from_now(connection, rows):
    """The lease is as long as asked for, counted from now."""
    delivery = await rows.take_one(connection, lease_s=10)
    assert await extend(connection, [delivery], lease_s=600) == {delivery.id}
    row = await rows.read(connection, delivery.id)
    assert (row["lease_expires_at"] - row["attempted_at"]).total_seconds() > 590


async def test_releasing_costs_no_attempt_of_the_budget(connection, rows):
    """The fence stays spent, the budget grows by one, the place in the order is kept."""
    delivery = await rows.take_one(connection)
    before = await rows.read(connection, delivery.id)
    assert await release(connection, [delivery]) == {delivery.id}
    row = await rows.read(connection, delivery.id)
    assert (row["status"], row["attempts"], row["max_attempts"]) == ("pending", 1, 6)
    assert row["next_attempt_at"] == before["next_attempt_at"]


async def test_reaping_and_settling_at_the_same_moment(connect, rows):
    """Whoever comes first wins, and the other changes nothing; never a deadlock, never both."""
    async with connect() as one, connect() as two:
        for _ in range(40):
            await rows.add(one, 5)
            batch = await rows.take(one)
            await rows.expire(one)
            outcomes = [Settlement(d.id, d.attempt, Status.FAILED, "no") for d in reversed(batch)]
            answers, reaped = await asyncio.gather(settle(one, outcomes), reap(two))
            refused = {a.id for a in answers if a.verdict.value == "refused"}
            assert refused == {r.id for r in reaped}
            await one.execute("delete from notifications.notification_deliveries")
