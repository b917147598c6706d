"""Measures what the depth costs with few and with many deliveries, beside counting them.

Run: .venv/bin/python bench/outbox_depth.py [rows]

Both queries run alternately in the same database at the same sizes; medians of 15 rounds.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

import psycopg

from server.embedded import embedded_postgres
from server.outbox import depth, migrate, recount
from server.outbox.queue import Connection, fold

ROUNDS = 15
FILL = """
insert into notifications.notification_deliveries
       (channel, recipient, payload, status, attempts, settled_at)
select 'page', 'page', '{"text": "x"}', 'sent', 1, now() from generate_series(1, %s)
"""
DUE = """
insert into notifications.notification_deliveries (channel, recipient, payload)
select 'page', 'page', '{"text": "x"}' from generate_series(1, 1000)
"""


async def main(conninfo: str, sizes: list[int]) -> None:
    """Fills the table up to each size and prints both medians in milliseconds."""
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        await migrate(connection)
        await connection.execute(DUE.encode())
        rows = 1000
        print(f"{'rows':>10} {'depth ms':>9} {'count ms':>9}")
        first = None
        for size in sizes:
            await connection.execute(FILL.encode(), (size - rows,))
            rows = size
            await connection.execute("vacuum analyze notifications.notification_deliveries")
            await fold(connection, worth=1)
            asked, counted = await _alternately(connection)
            first = first or asked
            print(f"{rows:>10} {asked:>9.2f} {counted:>9.2f}")
        print(f"depth, most rows over fewest: {asked / first:.2f}")


async def _alternately(connection: Connection) -> tuple[float, float]:
    asked, counted = [], []
    for _ in range(ROUNDS):
        for act, times in ((depth, asked), (recount, counted)):
            began = time.perf_counter()
            await act(connection)
            times.append((time.perf_counter() - began) * 1000)
    return statistics.median(asked), statistics.median(counted)


if __name__ == "__main__":
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 500_000
    with tempfile.TemporaryDirectory() as folder, embedded_postgres(Path(folder)) as lent:
        asyncio.run(main(lent, [10_000, 100_000, most]))
