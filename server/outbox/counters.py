"""Counters in the database: sums over all workers and drains, whoever of them is still there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from .queue import Connection
from .statements import statement


class Counter(NamedTuple):
    """What is counted: a name, what it is about, and an outcome or the bound of a bucket."""

    name: str
    subject: str = ""
    detail: str = ""


async def add_counts(connection: Connection, counts: Mapping[Counter, float]) -> None:
    """Adds to the counters, in one statement."""
    if not counts:
        return
    await connection.execute(
        statement("count"),
        {
            "names": [counter.name for counter in counts],
            "subjects": [counter.subject for counter in counts],
            "details": [counter.detail for counter in counts],
            "values": list(counts.values()),
        },
    )


async def read_counts(connection: Connection) -> dict[Counter, float]:
    """Every counter and its value."""
    cursor = await connection.execute(statement("counters"))
    return {Counter(*row[:3]): float(row[3]) for row in await cursor.fetchall()}
