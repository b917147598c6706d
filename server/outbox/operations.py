"""What an operator does by hand: look, retry, cancel, pause. Each call is one short transaction.

On a connection in autocommit mode each statement stands for itself.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from psycopg.rows import class_row, dict_row

from .model import Status
from .queue import Connection
from .statements import statement
from .stored import (
    Attempt,
    ChannelState,
    DeliveryPage,
    ShownDelivery,
    StoredDelivery,
    cursor_after,
    position,
)

MOST_AT_ONCE = 1000
"""How many deliveries one call may move, so that it stays a short transaction."""

log = logging.getLogger(__name__)

_LISTS = {
    None: "list_all",
    Status.PENDING: "list_pending",
    Status.PROCESSING: "list_processing",
    Status.SENT: "list_sent",
    Status.FAILED: "list_ended",
    Status.DEAD: "list_ended",
}


async def list_deliveries(
    connection: Connection,
    *,
    status: Status | None = None,
    channel: str | None = None,
    cursor: str | None = None,
    limit: int = 50,
) -> DeliveryPage:
    """Up to `limit` deliveries after `cursor`.

    Pending ones come in the order in which they fall due, those in processing by id, those that
    have ended latest first, and all statuses together newest first. What changes its status while
    somebody turns the pages moves to another list; nothing that stays put is skipped or repeated.
    Raises InvalidCursorError.
    """
    parameters = {
        **position(status, cursor),
        "status": None if status is None else status.value,
        "channel": channel,
        "limit": limit + 1,
    }
    async with connection.cursor(row_factory=dict_row) as opened:
        await opened.execute(statement(_LISTS[status]), parameters)
        rows = [_stored(row) for row in await opened.fetchall()]
    more = len(rows) > limit
    rows = rows[:limit]
    return DeliveryPage(rows, cursor_after(status, rows[-1]) if more else None)


async def show_delivery(connection: Connection, number: int) -> ShownDelivery | None:
    """A delivery with its payload and its attempts; None if there is none of this number."""
    async with connection.cursor(row_factory=dict_row) as opened:
        await opened.execute(statement("show"), {"id": number})
        row = await opened.fetchone()
    if row is None:
        return None
    async with connection.cursor(row_factory=class_row(Attempt)) as opened:
        await opened.execute(statement("attempts"), {"id": number})
        attempts = await opened.fetchall()
    return ShownDelivery(payload=row.pop("payload"), delivery=_stored(row), attempts=attempts)


def _stored(row: dict[str, Any]) -> StoredDelivery:
    return StoredDelivery(**{**row, "status": Status(row["status"])})


async def retry(connection: Connection, numbers: Sequence[int], *, more: int = 1) -> list[int]:
    """Makes failed and dead deliveries due now, each with at least `more` attempts to come.

    Returns the ids of those that had ended so; the others are left as they are.
    """
    moved = await _move(connection, "retry", {"ids": list(numbers), "more": more})
    return await _woken(connection, moved)


async def retry_matching(  # noqa: PLR0913 - a filter has a field for each thing it asks
    connection: Connection,
    status: Status,
    *,
    channel: str | None = None,
    settle_class: str | None = None,
    settled_since: datetime | None = None,
    settled_before: datetime | None = None,
    limit: int = MOST_AT_ONCE,
    more: int = 1,
) -> list[int]:
    """The same for up to `limit` deliveries of `status` (failed or dead), the oldest ends first.

    Called again and again it works through all of them, and ends by returning nothing: bound the
    filter by `settled_before` if those that end the same way again shall not come round.
    """
    if status not in {Status.FAILED, Status.DEAD}:
        raise ValueError(f"{status} deliveries have not ended in a way that can be retried")
    parameters: dict[str, object] = {
        "status": status.value,
        "channel": channel,
        "settle_class": settle_class,
        "settled_since": settled_since,
        "settled_before": settled_before,
        "limit": min(limit, MOST_AT_ONCE),
        "more": more,
    }
    return await _woken(connection, await _move(connection, "retry_matching", parameters))


async def cancel(connection: Connection, numbers: Sequence[int]) -> list[int]:
    """Ends deliveries that wait as failed, class 'cancelled'; returns the ids of those that did.

    What a worker holds at this moment is left alone: it may be sent already.
    """
    moved = await _move(connection, "cancel", {"ids": list(numbers)})
    if moved:
        log.info("cancelled %d deliveries", len(moved), extra={"action": "cancel", "ids": moved})
    return moved


async def _move(connection: Connection, name: str, parameters: dict[str, object]) -> list[int]:
    cursor = await connection.execute(statement(name), parameters)
    return sorted(int(number) for (number,) in await cursor.fetchall())


async def _woken(connection: Connection, moved: list[int]) -> list[int]:
    if moved:
        await connection.execute(statement("wake"))
        log.info("retry %d deliveries", len(moved), extra={"action": "retry", "ids": moved})
    return moved


async def pause_channel(connection: Connection, channel: str, *, reason: str | None = None) -> None:
    """Lets a channel's rows wait, attempts unspent, until it is resumed. Held by the database.

    What workers have claimed already is still sent. Any name may be paused, also ahead of its
    first delivery.
    """
    await connection.execute(statement("pause"), {"channel": channel, "reason": reason})
    log.warning(
        "paused channel %s", channel, extra={"action": "channel-paused", "channel": channel}
    )


async def resume_channel(connection: Connection, channel: str) -> bool:
    """Ends a pause and wakes the workers; whether there was one."""
    async with connection.cursor() as opened:
        await opened.execute(statement("resume"), {"channel": channel})
        resumed = await opened.fetchone() is not None
        if resumed:
            await opened.execute(statement("wake"))
    if resumed:
        log.info(
            "resumed channel %s", channel, extra={"action": "channel-resumed", "channel": channel}
        )
    return resumed


async def list_channels(connection: Connection) -> list[ChannelState]:
    """Every channel that has deliveries waiting or is paused, by name."""
    async with connection.cursor(row_factory=class_row(ChannelState)) as opened:
        await opened.execute(statement("channels"))
        return await opened.fetchall()
