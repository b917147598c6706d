"""The depth is exact at every instant, whatever several connections do at once."""

import asyncio
import random

import pytest

from server.outbox import depth, reap, recount, release, settle
from server.outbox.model import Settlement, Status
from server.outbox.queue import fold
from server.outbox.statements import statement

TABLE = "notifications.notification_deliveries"


async def _differences(connection) -> dict[str, tuple[int, int]]:
    """What the depth says and what a count says, at one instant, where they differ."""
    async with connection.transaction():
        await connection.execute("set transaction isolation level repeatable read")
        said, counted = await depth(connection), await recount(connection)
    both = {s.value: (getattr(said, s.value), counted[s]) for s in Status}
    return {name: pair for name, pair in both.items() if pair[0] != pair[1]}


async def _random_work(connect, rows, seed: int) -> None:
    chance = random.Random(seed)
    async with connect() as connection:
        for _ in range(40):
            match chance.randrange(9):
                case 0 | 1:
                    await rows.add(connection, chance.randint(1, 20), delay_s=chance.choice([0, 9]))
                case 2 | 3:
                    batch = await rows.take(connection, chance.randint(1, 9), holder=str(seed))
                    outcomes = [
                        Settlement(d.id, d.attempt, chance.choice(
                            [Status.SENT, Status.PENDING, Status.FAILED, Status.DEAD]))
                        for d in batch
                    ]  # fmt: skip
                    await settle(connection, outcomes)
                case 4:
                    await release(connection, await rows.take(connection, 3, holder=str(seed)))
                case 5:
                    await rows.take(connection, 2, lease_s=0.001, holder=str(seed))
                    await reap(connection)
                case 6:
                    await fold(connection, worth=1)
                case 7:
                    await connection.execute(
                        f"delete from {TABLE} where id in (select id from {TABLE}"
                        " where status = 'sent' limit 2 for update skip locked)".encode()
                    )
                case 8:
                    async with connection.transaction(force_rollback=True):
                        await rows.add(connection, 7)
                        await fold(connection, worth=1)


@pytest.mark.parametrize("seed", range(4))
async def test_exact_under_random_work_of_several_connections(connect, connection, rows, seed):
    """Three connections at work, aborted transactions included, while a fourth compares."""
    work = asyncio.gather(*(_random_work(connect, rows, 10 * seed + n) for n in range(3)))
    compared = 0
    while not work.done():
        assert await _differences(connection) == {}
        compared += 1
        await asyncio.sleep(0)
    await work
    assert compared
    assert await _differences(connection) == {}


async def test_folding_leaves_every_sum_as_it_was(connection, rows):
    """Many deltas become at most one for each status."""
    for _ in range(30):
        await rows.add(connection)
    await rows.take(connection, 10)
    before = await depth(connection)
    assert await fold(connection, worth=1) == 32
    after = await depth(connection)
    assert (after.pending, after.processing) == (before.pending, before.processing) == (20, 10)
    cursor = await connection.execute("select count(*) from notifications.depth_deltas")
    assert await cursor.fetchone() == (2,)


async def test_folding_waits_until_it_is_worth_it(connection, rows):
    """A handful of deltas is left alone."""
    await rows.add(connection)
    assert await fold(connection, worth=2) == 0


async def test_two_folds_at_once_take_different_deltas(connect, rows):
    """Neither waits, neither counts twice."""
    async with connect() as one, connect() as two:
        for _ in range(20):
            await rows.add(one)
        async with one.transaction():
            assert await fold(one, worth=1) == 20
            assert await fold(two, worth=1) == 0
        assert (await depth(two)).pending == 20


async def test_truncate_is_counted_too(connection, rows):
    """Nobody should, but somebody will."""
    await rows.add(connection, 9)
    await connection.execute(f"truncate {TABLE}".encode())
    assert await _differences(connection) == {}
    assert (await depth(connection)).pending == 0


async def test_parts_of_pending(connection, rows):
    """Due, scheduled and retrying make up the total."""
    await rows.add(connection, 3)
    await rows.add(connection, 2, delay_s=60)
    [delivery] = await rows.take(connection, 1)
    await settle(connection, [Settlement(delivery.id, 1, Status.PENDING, "again", 60.0)])
    found = await depth(connection)
    assert (found.pending, found.due, found.scheduled, found.retrying) == (5, 2, 2, 1)


async def test_age_of_the_oldest_that_is_due(connection, rows):
    """Counted from when it fell due; nothing due, no age."""
    assert (await depth(connection)).oldest_due_age_s is None
    await rows.add(connection, delay_s=60)
    assert (await depth(connection)).oldest_due_age_s is None
    await rows.add(connection)
    await connection.execute(
        f"update {TABLE} set next_attempt_at = next_attempt_at - interval '100 seconds'"
        " where next_attempt_at < clock_timestamp()".encode()
    )
    age = (await depth(connection)).oldest_due_age_s
    assert age is not None
    assert 100 <= age < 1000


async def test_a_wrong_delta_is_found_by_the_recount(connection, rows):
    """The comparison that these tests rest on does notice a difference."""
    await rows.add(connection, 2)
    await connection.execute(
        "insert into notifications.depth_deltas (status, change) values ('sent', 1)"
    )
    assert await _differences(connection) == {"sent": (1, 0)}


async def test_without_the_trigger_the_depth_would_be_wrong(connection, rows):
    """The triggers are what makes it exact."""
    await connection.execute(f"alter table {TABLE} disable trigger depth_inserted".encode())
    await rows.add(connection, 2)
    assert await _differences(connection) == {"pending": (0, 2)}


async def test_the_split_reads_the_pending_index(connection, rows):
    """The depth never scans the table."""
    await rows.add(connection, 3000)
    while batch := await rows.take(connection, 1000):
        await settle(connection, [Settlement(d.id, d.attempt, Status.SENT) for d in batch])
    await connection.execute(f"analyze {TABLE}".encode())
    cursor = await connection.execute(b"explain " + statement("depth"))
    plan = "\n".join(line for (line,) in await cursor.fetchall())
    assert "Seq Scan on notification_deliveries" not in plan, plan
