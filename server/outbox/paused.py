"""Which channels are paused, without a look at what waits for them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from psycopg.rows import class_row

from .queue import Connection
from .statements import statement

MOST = 100


@dataclass(frozen=True, slots=True)
class PausedChannel:
    """A channel that an operator has paused."""

    channel: str
    paused_at: datetime
    reason: str | None


async def paused_channels(connection: Connection) -> list[PausedChannel]:
    """The paused channels by name, at most 100. What waits for them is not counted."""
    async with connection.cursor(row_factory=class_row(PausedChannel)) as opened:
        await opened.execute(statement("paused_channels"), {"limit": MOST})
        return await opened.fetchall()
