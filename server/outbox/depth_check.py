"""Holds the depth against a count of the rows, and mends it if they ever differ."""

from __future__ import annotations

import logging

from .model import Status
from .queue import Connection, depth, recount
from .statements import statement

log = logging.getLogger(__name__)


async def depth_differences(connection: Connection) -> dict[Status, tuple[int, int]]:
    """What the depth says and what a count says, where they differ: nothing, ever.

    Both are taken in one snapshot, so it may run beside any work; it costs a scan of the table.
    """
    async with connection.transaction():
        await connection.execute("set transaction isolation level repeatable read, read only")
        said, counted = await depth(connection), await recount(connection)
    both = {status: (int(getattr(said, status.value)), counted[status]) for status in Status}
    return {status: pair for status, pair in both.items() if pair[0] != pair[1]}


async def mend_depth(connection: Connection) -> dict[Status, int]:
    """Makes the depth equal to a count again; returns by how much it was wrong.

    Needed after somebody changed rows with the triggers disabled. Writers wait meanwhile.
    """
    async with connection.transaction():
        await connection.execute(
            "lock table notifications.notification_deliveries, notifications.depth_deltas"
            " in share row exclusive mode"
        )
        cursor = await connection.execute(statement("mend_depth"))
        changes = {Status(status): int(change) for status, change in await cursor.fetchall()}
    if changes:
        log.warning(
            "mended the depth",
            extra={"action": "depth-mended", "changes": {s.value: n for s, n in changes.items()}},
        )
    return changes
