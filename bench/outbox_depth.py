"""What the depth costs to ask for, with few and with many deliveries, and what it costs to keep.

    python -m bench.outbox_depth [--rows 10000000] [--rounds 15]

One table keeps ten thousand rows, another grows to as many as asked for; a thousand of each are
due, the rest sent. At each size both are asked for their depth in turns, and the rows are counted,
which must come to the same. Then batches of 25 are claimed and settled with the triggers that keep
the depth and without them, in turns, by the statements alone: whatever a worker does besides makes
the share of the triggers smaller.

Bounds, of which each that is broken is named (exit code 1): at the largest size the median is at
most 1.5 times that of the small table, no size differs from the count, and keeping costs at most a
tenth of the rate.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
from psycopg.conninfo import make_conninfo

from server.embedded import embedded_postgres
from server.outbox import (
    NewDelivery,
    Settlement,
    Status,
    depth,
    depth_differences,
    enqueue,
    mend_depth,
    migrate,
)
from server.outbox.queue import exchange, fold

if TYPE_CHECKING:
    from server.outbox.queue import Connection

TABLE = "notifications.notification_deliveries"
SMALLEST = 10_000
STEP = 1_000_000
ASKED = 101
FLAT_BOUND = 1.5
KEEPING_BOUND = 0.9
BATCH = 25
FILL = f"""
insert into {TABLE} (channel, recipient, payload, status, attempts, settled_at)
select 'page', 'page', '{{"text": "x"}}', 'sent', 1, now() from generate_series(1, %s)
"""  # noqa: S608 - the table's name is a constant
DUE = [NewDelivery("page", "page", {"text": "x"})] * 1000
KEEPERS = ("depth_inserted", "depth_updated")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows at the largest size")
    parser.add_argument("--rounds", type=int, default=15, help="rounds with and without triggers")
    return parser.parse_args()


async def main(conninfo: str, rows: int, rounds: int) -> int:
    """Measures, prints, and returns the exit code."""
    broken = []
    async with await _connect(conninfo) as large:
        await large.execute(b"create database small")
        async with await _connect(make_conninfo(conninfo, dbname="small")) as small:
            for connection in (small, large):
                await migrate(connection)
                await enqueue(connection, DUE)
                await _fill(connection, SMALLEST - len(DUE))
            present, flat = SMALLEST, 1.0
            print(
                f"{'rows':>12}{'depth ms':>10}{'of 10,000':>11}{'count ms':>11}{'differs by':>12}"
            )
            for size in (SMALLEST, 100_000, STEP, rows):
                if not present <= size <= rows:
                    continue
                await _fill(large, size - present)
                present = size
                began = time.perf_counter()
                wrong = sum(map(abs, (await depth_differences(large)).values()))
                counted = 1000 * (time.perf_counter() - began)
                few, many = await _asked(small), await _asked(large)
                for _ in range(ASKED):
                    few += await _asked(small)
                    many += await _asked(large)
                first, last = statistics.median(few), statistics.median(many)
                flat = last / first
                print(f"{size:>12,}{last:>10.2f}{first:>11.2f}{counted:>11.1f}{wrong:>12}",
                      flush=True)  # fmt: skip
                if wrong:
                    broken.append(f"the depth differs from the count at {size:,} rows")
        print(f"most rows over fewest: {flat:.2f} (at most {FLAT_BOUND:g})")
        if flat > FLAT_BOUND:
            broken.append("the depth is not flat")
        kept = await _keeping(large, rounds)
        print(f"rate with the depth kept over without: {kept:.3f} (at least {KEEPING_BOUND:g})")
        if kept < KEEPING_BOUND:
            broken.append("keeping the depth costs more than a tenth")
    for bound in broken:
        print(f"BROKEN: {bound}")
    return 1 if broken else 0


async def _connect(conninfo: str) -> Connection:
    return await psycopg.AsyncConnection.connect(conninfo, autocommit=True)


async def _asked(connection: Connection) -> list[float]:
    """Milliseconds that an answer takes."""
    began = time.perf_counter()
    await depth(connection)
    return [1000 * (time.perf_counter() - began)]


async def _fill(connection: Connection, count: int) -> None:
    """Adds sent deliveries, faster than by sending them: without triggers, and counted after."""
    await connection.execute(f"alter table {TABLE} disable trigger user".encode())
    for first in range(0, count, STEP):
        await connection.execute(FILL.encode(), (min(STEP, count - first),))
    await connection.execute(f"alter table {TABLE} enable trigger user".encode())
    await mend_depth(connection)
    await connection.execute(f"vacuum (analyze) {TABLE}".encode())
    await fold(connection, worth=1)


async def _keeping(connection: Connection, rounds: int) -> float:
    """The median over the rounds of the rate with the triggers over the rate without them."""
    ratios = []
    for number in range(rounds):
        seconds = {}
        for kept in (True, False) if number % 2 else (False, True):
            word = "enable" if kept else "disable"
            changes = ", ".join(f"{word} trigger {name}" for name in KEEPERS)
            await connection.execute(f"alter table {TABLE} {changes}".encode())
            await enqueue(connection, DUE, wake=False)
            seconds[kept] = await _emptied(connection)
            await fold(connection, worth=1)
        ratios.append(seconds[False] / seconds[True])
    return statistics.median(ratios)


async def _emptied(connection: Connection) -> float:
    """Seconds that it takes to claim and settle whatever is due."""
    began = time.perf_counter()
    settlements: list[Settlement] = []
    while True:
        _, held = await exchange(
            connection, settlements, holder="bench", channels=["page"], limit=BATCH, lease_s=60
        )
        settlements = [Settlement(one.id, one.attempt, Status.SENT) for one in held]
        if not held:
            return time.perf_counter() - began


if __name__ == "__main__":
    options = _options()
    with tempfile.TemporaryDirectory() as folder, embedded_postgres(Path(folder)) as lent:
        sys.exit(asyncio.run(main(lent, options.rows, options.rounds)))
