"""A worker sleeps until there is something to do, and is woken when there is."""

import asyncio

import pytest

from server.outbox import Policy, Turn, Worker, depth, listen

SLEEPY = Policy(lease_s=100, send_timeout_s=1, send_margin_s=1, poll_s=3600)
LONG = 60
"""Seconds after which a test gives up: less than the poll of a sleepy worker."""


class Sender:
    """Tells the test which deliveries it was given."""

    def __init__(self) -> None:
        self.given: asyncio.Queue[int] = asyncio.Queue()

    async def send(self, delivery) -> None:
        """Takes it."""
        self.given.put_nowait(delivery.id)


@pytest.fixture
async def start(connect, direct):
    """Starts a worker, with or without ears, and stops it after the test."""
    stop = asyncio.Event()
    tasks = []

    def run(policy=SLEEPY, *, ears: bool = True):
        wake = asyncio.Event()
        sender = Sender()
        worker = Worker(Turn(connect, {"page": sender}, policy, holder="w"), wake=wake)
        tasks.append(asyncio.create_task(worker.run(stop)))
        if ears:
            tasks.append(asyncio.create_task(listen(direct, wake)))
        return sender

    yield run
    stop.set()
    for task in tasks[1:]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _until_idle(connection) -> None:
    """Waits until the worker has looked once: from then on it sleeps."""
    async with asyncio.timeout(LONG):
        while (await depth(connection)).live_workers == 0:  # noqa: ASYNC110 - in the database
            await asyncio.sleep(0.02)


async def test_a_notification_wakes_it(start, connection, rows):
    """Long before it would poll again."""
    sender = start()
    await _until_idle(connection)
    [number] = await rows.add(connection)
    async with asyncio.timeout(LONG):
        assert await sender.given.get() == number


async def test_without_notifications_it_polls(start, connection, rows):
    """A lost notification costs one poll interval."""
    sender = start(Policy(lease_s=5, send_timeout_s=1, send_margin_s=1, poll_s=0.2), ears=False)
    await _until_idle(connection)
    [number] = await rows.add(connection)
    async with asyncio.timeout(LONG):
        assert await sender.given.get() == number


async def test_it_sleeps_until_the_next_row_is_due(start, connection, rows):
    """No notification comes when a delay has passed, and the poll is far away."""
    [number] = await rows.add(connection, delay_s=0.5)
    sender = start(ears=False)
    async with asyncio.timeout(LONG):
        assert await sender.given.get() == number


async def test_it_wakes_for_a_lease_that_runs_out(start, connection, rows):
    """A dead worker's row is back when its lease is over, without any notification."""
    lost = await rows.take_one(connection, lease_s=0.5, holder="dead")
    sender = start(ears=False)
    async with asyncio.timeout(LONG):
        assert await sender.given.get() == lost.id


async def test_its_ears_grow_back(start, connection, rows):
    """The connection that listens was cut; the next notification is heard again."""
    sender = start()
    await _until_idle(connection)
    cut = (
        "select pg_terminate_backend(pid) from pg_stat_activity"
        " where datname = current_database() and query like 'listen%%'"
    )
    async with asyncio.timeout(LONG):
        while (await connection.execute(cut)).rowcount == 0:  # noqa: ASYNC110 - in the database
            await asyncio.sleep(0.02)
        [number] = await rows.add(connection)
        assert await sender.given.get() == number


async def test_presence_is_shown_and_withdrawn(connect, connection):
    """For display: there while it runs, gone when it has ended."""
    stop = asyncio.Event()
    worker = Worker(Turn(connect, {"page": Sender()}, SLEEPY, holder="w"), wake=asyncio.Event())
    task = asyncio.create_task(worker.run(stop))
    await _until_idle(connection)
    stop.set()
    await task
    assert (await depth(connection)).live_workers == 0


async def test_presence_fades(connection):
    """A worker that is silent for three beats is not shown any more."""
    await connection.execute(
        "insert into notifications.workers (holder, host, pid, beat, seen_at)"
        " values ('silent', 'h', 1, '1 second', clock_timestamp() - interval '4 seconds'),"
        "        ('there', 'h', 2, '1 second', clock_timestamp())"
    )
    assert (await depth(connection)).live_workers == 1


async def test_presence_decides_nothing_about_a_delivery(connection, rows):
    """A row of a worker that is not registered keeps its lease."""
    delivery = await rows.take_one(connection, holder="unheard-of")
    await connection.execute("delete from notifications.workers")
    from_another = await rows.take(connection, holder="b")
    assert from_another == []
    assert (await rows.read(connection, delivery.id))["holder"] == "unheard-of"


async def test_housekeeping_that_has_to_wait_delays_no_send(start, connect, connection, rows):
    """Somebody holds the table that it wants to clear; deliveries go out all the same."""
    [number] = await rows.add(connection)
    async with connect() as other, other.transaction():
        await other.execute("lock table notifications.page_messages in access exclusive mode")
        sender = start()
        async with asyncio.timeout(LONG):
            assert await sender.given.get() == number
