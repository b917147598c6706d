"""Under a backlog a worker exchanges over two connections, and is no less careful for it."""

import asyncio
import logging

import psycopg
import pytest

from server.outbox import ConfigurationError, Policy, Turn, Worker
from server.outbox.model import Status
from tests.functions import alter_function

BATCH = 4
DELIVERIES = 200
PATIENCE_S = 60


class Watched(psycopg.AsyncConnection):
    """A connection that tells how many of its kind wait for the server at a time."""

    waiting = 0
    most = 0

    async def wait(self, *given, **options):
        """Waits as usual."""
        Watched.waiting += 1
        Watched.most = max(Watched.most, Watched.waiting)
        try:
            return await super().wait(*given, **options)
        finally:
            Watched.waiting -= 1


class Kept:
    """Lends connections that stay open, so that none waits for the server only to be opened."""

    def __init__(self, conninfo: str) -> None:
        self._conninfo = conninfo
        self._free: list[psycopg.AsyncConnection] = []

    def __call__(self) -> "_Loan":
        """One of them."""
        return _Loan(self)

    async def take(self) -> psycopg.AsyncConnection:
        """One that nobody has."""
        if self._free:
            return self._free.pop()
        return await Watched.connect(self._conninfo, autocommit=True, prepare_threshold=None)

    async def put(self, connection: psycopg.AsyncConnection) -> None:
        """It is free again, unless it is broken."""
        if not connection.broken:
            self._free.append(connection)

    async def close(self) -> None:
        """Closes all that are free."""
        for connection in self._free:
            await connection.close()


class _Loan:
    def __init__(self, kept: Kept) -> None:
        self._kept = kept

    async def __aenter__(self) -> psycopg.AsyncConnection:
        self._connection = await self._kept.take()
        return self._connection

    async def __aexit__(self, *_) -> None:
        await self._kept.put(self._connection)


class Sender:
    """Takes everything at once, and says when it has had so many."""

    def __init__(self, *marks: int) -> None:
        self.given: list[tuple[int, int]] = []
        self.marks = {mark: asyncio.Event() for mark in marks}

    async def send(self, delivery) -> None:
        """Takes it."""
        self.given.append((delivery.id, delivery.attempt))
        if len(self.given) in self.marks:
            self.marks[len(self.given)].set()


@pytest.fixture
async def kept(database):
    """Connections that are kept, and counted from now on."""
    Watched.waiting = Watched.most = 0
    made = Kept(database)
    yield made
    await made.close()


def _policy(**figures) -> Policy:
    return Policy(batch=BATCH, concurrency=BATCH, poll_s=3600, **figures)


async def _ended(worker_run, stop, event) -> None:
    async with asyncio.timeout(PATIENCE_S):
        await event.wait()
        stop.set()
        await worker_run


@pytest.mark.parametrize("exchanges", [1, 2])
async def test_so_many_exchanges_at_once_as_the_policy_says(kept, connection, rows, exchanges):
    """With sends that end at once, and each delivery is sent once all the same."""
    ids = await rows.add(connection, DELIVERIES)
    sender, stop = Sender(DELIVERIES), asyncio.Event()
    turn = Turn(kept, {"page": sender}, _policy(exchanges=exchanges), holder="w")
    worker = Worker(turn, wake=asyncio.Event())
    # Its housekeeping and its sign of life wait for the server beside the exchanges.
    worker._beat_at = worker._reaped_at = float("inf")  # noqa: SLF001 - they are to be left out
    running = asyncio.create_task(worker.run(stop))
    await _ended(running, stop, sender.marks[DELIVERIES])
    assert Watched.most == exchanges
    assert sorted(sender.given) == [(number, 1) for number in ids]
    assert running.result().sent == DELIVERIES


async def test_nothing_more_is_claimed_while_outcomes_cannot_be_saved(
    kept, connection, direct, rows, caplog
):
    """Over neither connection; and when they can, each is saved and the rest is sent."""
    ids = await rows.add(connection, DELIVERIES)
    sender, stop = Sender(DELIVERIES // 4, DELIVERIES), asyncio.Event()
    worker = Worker(Turn(kept, {"page": sender}, _policy(), holder="w"), wake=asyncio.Event())
    running = asyncio.create_task(worker.run(stop))
    async with asyncio.timeout(PATIENCE_S):
        await sender.marks[DELIVERIES // 4].wait()
    right, wrong = "begin\n    return query", "begin\n    perform 1 / 0;\n    return query"
    with caplog.at_level(logging.WARNING, "server.outbox"):
        await asyncio.to_thread(alter_function, direct, "notifications.settle", right, wrong)
        async with asyncio.timeout(PATIENCE_S):
            while sum(r.__dict__["action"] == "settle-failed" for r in caplog.records) < 5:  # noqa: ASYNC110 - a log has no event
                await asyncio.sleep(0.02)
    # What was under way when it began to fail: two exchanges, and what two had brought before.
    assert worker.done.claimed - worker.done.sent <= 4 * BATCH
    await asyncio.to_thread(alter_function, direct, "notifications.settle", wrong, right)
    await _ended(running, stop, sender.marks[DELIVERIES])
    assert sorted(sender.given) == [(number, 1) for number in ids]
    cursor = await connection.execute(
        "select status, count(*) from notifications.notification_deliveries group by status"
    )
    assert await cursor.fetchall() == [(Status.SENT, DELIVERIES)]


@pytest.mark.parametrize("exchanges", [0, 3])
def test_one_or_two(exchanges):
    """A third connection would find nothing left to hide behind."""
    with pytest.raises(ConfigurationError, match="exchanges must be 1 or 2"):
        _policy(exchanges=exchanges)
