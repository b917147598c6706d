"""How the tables fare: dead rows, their size, when they were swept, and what keeps them from it."""

from __future__ import annotations

from dataclasses import dataclass

from psycopg.rows import class_row

from .queue import Connection
from .statements import statement


@dataclass(frozen=True, slots=True)
class TableHealth:
    """A table by PostgreSQL's own statistics, which lag a little behind.

    `bytes` includes its indexes; `vacuumed_ago_s` is None if it has never been swept.
    """

    name: str
    live_rows: int
    dead_rows: int
    bytes: int
    vacuumed_ago_s: float | None


async def table_health(connection: Connection) -> list[TableHealth]:
    """The tables that churn, by name."""
    async with connection.cursor(row_factory=class_row(TableHealth)) as cursor:
        await cursor.execute(statement("table_health"))
        return await cursor.fetchall()


async def oldest_transaction_s(connection: Connection) -> float:
    """For how long the oldest open transaction of this database has been open, in seconds.

    While it lasts no dead row that is younger can be swept, and claims slow down. 0: none.
    """
    cursor = await connection.execute(statement("oldest_transaction"))
    [(age_s,)] = await cursor.fetchall()
    return float(age_s or 0.0)
