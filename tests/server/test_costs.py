"""What a delivery costs that does not depend on the machine: never a time.

The least that a queue of this kind can do at a batch of 25 (one table, a claim and a settle that go
together, nothing else: bench/outbox_peers/floor.py) is 0.047 transactions, 0.041 flushes of the log
to the disk and about 450 bytes of it for a delivery. Ours has on top: a row in the attempt log, two
more indexes that follow a row's status, and a trigger that keeps the depth.
"""

import asyncio
from pathlib import Path

import psycopg
import pytest

from server.embedded import embedded_postgres
from server.outbox import NewDelivery, Policy, Turn, Worker, enqueue, migrate

DELIVERIES = 2000
BATCH = 25
COUNTS = """
select (select xact_commit from pg_stat_database where datname = current_database()),
       (select sum(fsyncs) from pg_stat_io where object = 'wal'),
       (select wal_bytes from pg_stat_wal)
"""


class Sender:
    """Takes everything, and tells when it has had enough."""

    def __init__(self) -> None:
        self.given = 0
        self.enough = asyncio.Event()

    async def send(self, _delivery) -> None:
        """Takes it."""
        self.given += 1
        if self.given == DELIVERIES:
            self.enough.set()


class Counting(psycopg.AsyncConnection):
    """A connection that counts how often it waits for the server."""

    waits = 0

    async def wait(self, *given, **options):
        """Waits as usual."""
        Counting.waits += 1
        return await super().wait(*given, **options)


@pytest.fixture(scope="module")
def durable(tmp_path_factory) -> str:
    """A PostgreSQL with its default durability: the one of the other tests does not flush."""
    with embedded_postgres(Path(tmp_path_factory.mktemp("durable"))) as conninfo:
        yield conninfo


async def _counts(connection) -> list[float]:
    # What a backend counted becomes visible within a second of its last statement, and now.
    await connection.execute("select pg_stat_force_next_flush()")
    cursor = await connection.execute(COUNTS)
    return [float(count) for count in await cursor.fetchone()]


async def test_what_a_delivery_costs_at_a_batch_of_25(durable):
    """A fused exchange for each batch, and little else."""
    sender, stop = Sender(), asyncio.Event()
    async with await psycopg.AsyncConnection.connect(durable, autocommit=True) as connection:
        await migrate(connection)
        await enqueue(connection, [NewDelivery("page", "page", {"text": "x"})] * DELIVERIES)
        await connection.execute("vacuum (analyze) notifications.notification_deliveries")

        def connect():
            return _opened(durable)

        turn = Turn(connect, {"page": sender}, Policy(batch=BATCH, poll_s=60), holder="me")
        worker = Worker(turn, wake=asyncio.Event())
        before = await _counts(connection)
        Counting.waits = 0
        running = asyncio.create_task(worker.run(stop))
        await sender.enough.wait()
        stop.set()
        assert (await running).sent == DELIVERIES
        round_trips = Counting.waits
        after = await _counts(connection)
    transactions, flushes, log_bytes = (
        (late - early) / DELIVERIES for late, early in zip(after, before, strict=True)
    )
    found = (
        f"{transactions:.4f} transactions, {flushes:.4f} flushes, {log_bytes:.0f} bytes,"
        f" {round_trips / DELIVERIES:.4f} round trips a delivery"
    )
    assert 1 / BATCH <= transactions <= 0.058, found
    assert flushes <= 0.050, found
    assert log_bytes <= 1020, found
    assert round_trips / DELIVERIES <= 0.056, found


class _opened:  # noqa: N801 - used like a function
    def __init__(self, conninfo: str) -> None:
        self._conninfo = conninfo

    async def __aenter__(self) -> psycopg.AsyncConnection:
        self._connection = await Counting.connect(
            self._conninfo, autocommit=True, prepare_threshold=None
        )
        return self._connection

    async def __aexit__(self, *_) -> None:
        await self._connection.close()
