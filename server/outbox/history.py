"""The depth over time: a sample a minute, kept for a week, taken by whoever keeps house."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime

from psycopg.rows import class_row

from .queue import Connection, depth
from .statements import statement

KEEP_S = 7 * 24 * 3600.0
STEP_S = 60


@dataclass(frozen=True, slots=True)
class Sample:
    """The depth at some instant of the minute `at`."""

    at: datetime
    pending: int
    due: int
    processing: int
    sent: int
    failed: int
    dead: int
    live_workers: int
    oldest_due_age_s: float | None


async def sample_depth(connection: Connection, *, keep_s: float = KEEP_S) -> bool:
    """Takes this minute's sample if nobody has; whether it did. Any number may try at once."""
    cursor = await connection.execute(statement("sample_missing"))
    if await cursor.fetchone() != (True,):
        return False
    found = asdict(await depth(connection))
    cursor = await connection.execute(statement("sample"), {**found, "keep_s": keep_s})
    return await cursor.fetchone() is not None


async def depth_history(
    connection: Connection, *, span_s: float, most: int = 1000
) -> tuple[int, list[Sample]]:
    """The samples of the last `span_s` seconds, oldest first, thinned out to about `most`.

    Returns the distance between samples in seconds (whole minutes) as well. Minutes in which
    nobody kept house are missing, not made up.
    """
    step_s = STEP_S * max(1, -(-int(span_s) // (STEP_S * most)))
    async with connection.cursor(row_factory=class_row(Sample)) as cursor:
        await cursor.execute(statement("history"), {"span_s": span_s, "step_s": step_s})
        return step_s, await cursor.fetchall()
