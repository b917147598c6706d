"""Measures what docs/scaling.md reckons with: writers that notify, a pooler, space, connections.

Run: .venv/bin/python -m bench.outbox_scaling [--seconds 2] [--deliveries 5000]

One embedded PostgreSQL with its default durability. What is compared runs alternately, three
times; figures are medians. Needs pgbouncer for the part about it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg

from server.embedded import embedded_postgres
from server.outbox import Connect, Delivery, NewDelivery, Policy, Turn, drain, enqueue, migrate
from tests.pooler import find_pgbouncer, pooler
from tests.server.program import clean_environment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

ROUNDS = 3
WRITERS = (1, 4, 16)
NEW = NewDelivery("page", "page", {"text": "x" * 100})
SIZES = """
select relname, pg_total_relation_size(oid)
  from pg_class
 where relnamespace = 'notifications'::regnamespace
   and relname in ('notification_deliveries', 'delivery_attempts')
 order by 1
"""
OTHERS = """
select count(*) from pg_stat_activity
 where datname = current_database() and pid <> pg_backend_pid()
   and backend_type = 'client backend'
"""


class Nobody:
    """A channel that takes everything at once."""

    async def send(self, _delivery: Delivery) -> None:
        """Takes it."""


def _connector(conninfo: str) -> Connect:
    """Lends one connection after another, and keeps one of them open, as a pool does."""
    kept: list[psycopg.AsyncConnection[Any]] = []

    @contextlib.asynccontextmanager
    async def connect() -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        connection = (
            kept.pop()
            if kept
            else await psycopg.AsyncConnection.connect(
                conninfo, autocommit=True, prepare_threshold=None
            )
        )
        try:
            yield connection
        finally:
            kept.append(connection)

    return connect


async def _commits(conninfo: str, writers: int, seconds: float, *, wake: bool) -> float:
    """Transactions a second of so many writers, each of which adds one delivery."""
    until = time.perf_counter() + seconds
    done = 0

    async def write() -> None:
        nonlocal done
        async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
            while time.perf_counter() < until:
                await enqueue(connection, [NEW], wake=wake)
                done += 1

    await asyncio.gather(*(write() for _ in range(writers)))
    return done / seconds


async def _emptied(conninfo: str, direct: str, deliveries: int, batch: int) -> float:
    """Deliveries a second of one drain."""
    async with await psycopg.AsyncConnection.connect(direct, autocommit=True) as connection:
        await connection.execute("truncate notifications.notification_deliveries")
        await enqueue(connection, [NEW] * deliveries)
        await connection.execute("vacuum analyze notifications.notification_deliveries")
    policy = Policy(batch=batch, concurrency=batch)
    turn = Turn(_connector(conninfo), {"page": Nobody()}, policy, holder="bench")
    began = time.perf_counter()
    report = await drain(turn, asyncio.Event())
    assert report.done.sent == deliveries  # noqa: S101 - a figure for anything else is none
    return deliveries / (time.perf_counter() - began)


async def _notifying(conninfo: str, seconds: float) -> None:
    print("writers that add one delivery a transaction, commits/s")
    print(f"{'writers':>8}{'silent':>10}{'notified':>10}{'ratio':>8}")
    for writers in WRITERS:
        pairs = [
            [await _commits(conninfo, writers, seconds, wake=wake) for wake in (False, True)]
            for _ in range(ROUNDS)
        ]
        silent, notified = (statistics.median(column) for column in zip(*pairs, strict=True))
        ratio = statistics.median(one / two for two, one in pairs)
        print(f"{writers:>8}{silent:>10.0f}{notified:>10.0f}{ratio:>8.2f}")


async def _pooled(conninfo: str, deliveries: int) -> None:
    if find_pgbouncer() is None:
        print("no pgbouncer here: nothing is said about a pooler")
        return
    print("one drain, deliveries/s")
    print(f"{'batch':>8}{'direct':>10}{'pooled':>10}{'ratio':>8}")
    with pooler(conninfo) as through:
        for batch in (25, 200):
            pairs = [
                [await _emptied(way, conninfo, deliveries, batch) for way in (conninfo, through)]
                for _ in range(ROUNDS)
            ]
            direct, pooled = (statistics.median(column) for column in zip(*pairs, strict=True))
            ratio = statistics.median(two / one for one, two in pairs)
            print(f"{batch:>8}{direct:>10.0f}{pooled:>10.0f}{ratio:>8.2f}")


async def _log(conninfo: str, deliveries: int) -> None:
    """What adding writes to the write-ahead log, checkpoints aside."""
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        await connection.execute("checkpoint")
        print("write-ahead log of one delivery that is added, bytes")
        for together in (1, 25, 1000):
            before = await _written(connection)
            for _ in range(deliveries // together):
                await enqueue(connection, [NEW] * together)
            written = (await _written(connection) - before) / deliveries
            print(f"  {together:>4} a transaction {written:>8.0f}")


async def _written(connection: psycopg.AsyncConnection[Any]) -> int:
    cursor = await connection.execute("select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')")
    row = await cursor.fetchone()
    return int(row[0]) if row else 0


async def _space(conninfo: str, deliveries: int) -> None:
    await _emptied(conninfo, conninfo, deliveries, 200)
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        cursor = await connection.execute(SIZES)
        print("space of a sent delivery with a payload of 100 characters, indexes included")
        for name, size in await cursor.fetchall():
            print(f"  {name:<28}{size / deliveries:>8.0f} bytes")


@contextlib.contextmanager
def _worker(conninfo: str) -> Iterator[None]:
    process = subprocess.Popen(
        [sys.executable, "-m", "server", "work"],
        env=clean_environment() | {"DATABASE_URL": conninfo, "WORKERS_LOG": "json"},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None  # noqa: S101 - it was asked for
        for line in process.stderr:
            if '"listen"' in line:
                break
        yield
    finally:
        process.terminate()
        process.communicate()


async def _connections(conninfo: str) -> None:
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        await connection.execute("truncate notifications.notification_deliveries")
        before = await _others(connection)
        busy = 0
        with _worker(conninfo):
            await asyncio.sleep(1.0)
            idle = await _others(connection) - before
            await enqueue(connection, [NEW] * 2000)
            until = time.perf_counter() + 3.0
            while time.perf_counter() < until:
                busy = max(busy, await _others(connection) - before)
        print(f"connections of one worker process: {idle} idle, {busy} at most with 10 page sends")


async def _others(connection: psycopg.AsyncConnection[Any]) -> int:
    row = await (await connection.execute(OTHERS)).fetchone()
    return int(row[0]) if row else 0


async def main(conninfo: str, seconds: float, deliveries: int) -> None:
    """Prints all of it."""
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        await migrate(connection)
    await _notifying(conninfo, seconds)
    await _pooled(conninfo, deliveries)
    await _space(conninfo, deliveries)
    await _log(conninfo, min(deliveries, 2000))
    await _connections(conninfo)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--deliveries", type=int, default=5000)
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        embedded_postgres(Path(folder)) as embedded,
    ):
        asyncio.run(main(embedded, given.seconds, given.deliveries))
