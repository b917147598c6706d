"""Statements that meet on the same rows: nobody waits in a circle, and nobody wakes in vain."""

import asyncio
import random

import psycopg
import pytest

from server.outbox import (
    Policy,
    Settlement,
    Status,
    Turn,
    Worker,
    cancel,
    extend,
    listen,
    reap,
    release,
    retry,
    settle,
    told_of_statements,
)
from server.outbox.queue import fold
from tests.server.conftest import TABLE

PATIENCE_S = 60
ROUNDS = 40
DEADLOCKS = "select deadlocks from pg_stat_database where datname = current_database()"


@pytest.mark.parametrize("seed", range(2))
async def test_no_two_statements_wait_in_a_circle(connect, connection, rows, seed):
    """Overlapping batches in any order, under reaper, heartbeat, operator and fold."""
    chance = random.Random(seed)
    ids = await rows.add(connection, 40, max_attempts=1000)
    held = {}

    def some(most: int = 30) -> list:
        known = list(held.values())
        return chance.sample(known, min(len(known), most))

    async def take(one) -> None:
        for delivery in await rows.take(one, 30, lease_s=chance.choice([0.001, 60])):
            held[delivery.id] = delivery

    async def settle_some(one) -> None:
        to = chance.choice([Status.PENDING, Status.SENT, Status.DEAD])
        await settle(one, [Settlement(d.id, d.attempt, to, "no", 0.0) for d in some()])

    async def start_over(one) -> None:
        await retry(one, chance.sample(ids, 30), more=1000)

    acts = [
        take,
        take,
        settle_some,
        settle_some,
        lambda one: extend(one, some() or [], lease_s=60),
        lambda one: release(one, some()),
        lambda one: reap(one, limit=30),
        lambda one: cancel(one, chance.sample(ids, 5)),
        start_over,
        lambda one: fold(one, worth=1),
    ]

    async def work() -> None:
        async with connect() as one:
            for _ in range(ROUNDS):
                await chance.choice(acts)(one)

    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        for _ in range(6):
            group.create_task(work())
    await connection.execute("select pg_stat_force_next_flush()")
    assert await (await connection.execute(DEADLOCKS)).fetchone() == (0,)


async def test_the_circle_is_seen_where_there_is_one(connect, connection, rows):
    """Two rows, locked by two in opposite order: the test above would not miss it."""
    first, second = await rows.add(connection, 2)
    lock = f"select 1 from {TABLE} where id = %s for update".encode()
    met = asyncio.Barrier(2)

    async def lock_both(*ids: int) -> None:
        async with connect() as one, one.transaction():
            for number in ids:
                await one.execute(lock, (number,))
                if number == ids[0]:
                    await met.wait()

    done = await asyncio.gather(
        lock_both(first, second), lock_both(second, first), return_exceptions=True
    )
    assert [type(one) for one in done if one] == [psycopg.errors.DeadlockDetected]


class Sender:
    """Takes everything."""

    def __init__(self) -> None:
        self.given: asyncio.Queue[int] = asyncio.Queue()

    async def send(self, delivery) -> None:
        """Takes it."""
        self.given.put_nowait(delivery.id)


class Statements:
    """Counts the statements of this process, and tells when the workers have gone to sleep."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._more = asyncio.Event()

    def __call__(self, name: str, _took: float) -> None:
        """Takes note of one."""
        self.names.append(name)
        self._more.set()

    async def until_asleep(self, workers: int) -> list[str]:
        """What was run until each has asked when to get up again, which it does once a look."""
        async with asyncio.timeout(PATIENCE_S):
            while self.names.count("next_due") < workers:
                await self._more.wait()
                self._more.clear()
        names, self.names = self.names, []
        return names


async def test_one_notification_costs_each_idle_worker_one_look(connect, direct, connection, rows):
    """Eight idle workers, one delivery: a claim each, and one more of whoever got it."""
    count, policy = 8, Policy(poll_s=3600)
    stop, sender, statements = asyncio.Event(), Sender(), Statements()
    wakes = [asyncio.Event() for _ in range(count)]
    with told_of_statements(statements):
        tasks = [asyncio.create_task(listen(direct, wake)) for wake in wakes]
        try:
            for wake in wakes:
                await wake.wait()
            for n, wake in enumerate(wakes):
                turn = Turn(connect, {"page": sender}, policy, holder=f"w{n}")
                tasks.append(asyncio.create_task(Worker(turn, wake=wake).run(stop)))
            await statements.until_asleep(count)
            [number] = await rows.add(connection)
            seen = await statements.until_asleep(count)
            assert await sender.given.get() == number
            claims = [name for name in seen if "claim" in name]
            assert count <= len(claims) <= count + 1, seen
        finally:
            stop.set()
            for task in tasks[:count]:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
