"""What the statements of a transaction read of the deliveries, as PostgreSQL counts it.

A plan that stands in a function cannot be looked at from outside; what it did can.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.server.conftest import TABLE, Connection

COUNTS = f"""
select c.relname, pg_stat_get_xact_numscans(c.oid), pg_stat_get_xact_tuples_fetched(c.oid)
  from pg_class as c
 where c.oid = '{TABLE}'::regclass
    or c.oid in (select indexrelid from pg_index where indrelid = '{TABLE}'::regclass)
"""


@dataclass
class Read:
    """Filled at the end. `indexes` are those that were used, `rows` what was fetched by them.

    `whole` is how often the table was read from end to end.
    """

    indexes: set[str] = field(default_factory=set)
    rows: int = 0
    whole: int = 0


@asynccontextmanager
async def reading(connection: Connection) -> AsyncIterator[Read]:
    """Opens a transaction and counts what is read in it."""
    read = Read()
    async with connection.transaction():
        before = await _counts(connection)
        yield read
        after = await _counts(connection)
    for name, (scans, fetched) in after.items():
        more = scans - before[name][0]
        read.rows += fetched - before[name][1]
        if name == TABLE.partition(".")[2]:
            read.whole = more
        elif more:
            read.indexes.add(name)


async def _counts(connection: Connection) -> dict[str, tuple[int, int]]:
    cursor = await connection.execute(COUNTS.encode())
    return {name: (scans, fetched) for name, scans, fetched in await cursor.fetchall()}
