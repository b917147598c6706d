"""What happens to deliveries, for whoever watches: read in order, without gaps or repetitions.

Changes are written only while somebody wants them (`record_changes`); otherwise they cost one look
at one row for each statement. They are a view to watch, not a record to rely on: what is old is
deleted, and who comes too late is told to begin anew (`queue_now`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import psycopg
from psycopg.rows import class_row, dict_row

from .cursor import Cursor, Snapshot
from .model import Depth, Status
from .queue import Connection, depth
from .statements import statement

CHANGES = "delivery_events"
"""The name to LISTEN on. A notification says that there is something to read."""

HELD = 200
"""How many deliveries that are held `queue_now` tells of at most."""

KEEP = 20_000
KEEP_S = 3600.0
PURGE = 5_000


class Kind(StrEnum):
    """What was done to a delivery. A REFUSE has changed nothing: a late write was refused."""

    ENQUEUE = "enqueue"
    CLAIM = "claim"
    EXTEND = "extend"
    SETTLE = "settle"
    RELEASE = "release"
    REAP = "reap"
    REFUSE = "refuse"
    RETRY = "retry"
    CANCEL = "cancel"
    EDIT = "edit"


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one delivery, or one late write that was refused.

    `attempt` is the attempt that wrote, `current_attempt` the delivery's own: they differ where a
    late write was refused. `holder` holds it now or held it until now, or wrote too late.
    `outcome`, `code`, `error` and `verdict` are the attempt's in the attempt log, once it has
    ended. `written_by` is the number of the transaction.
    """

    seq: int
    written_by: int
    at: datetime
    change: Kind
    delivery_id: int
    channel: str
    from_status: Status | None
    to_status: Status
    attempt: int
    current_attempt: int
    max_attempts: int
    holder: str | None
    lease_expires_at: datetime | None
    next_attempt_at: datetime
    outcome: str | None
    code: str | None
    error: str | None
    verdict: str | None


@dataclass(frozen=True, slots=True)
class ChangePage:
    """Changes in order, and the cursor after them. `caught_up`: there was nothing more then."""

    changes: Sequence[Change]
    cursor: Cursor
    caught_up: bool


@dataclass(frozen=True, slots=True)
class Held:
    """A delivery that a worker holds."""

    id: int
    channel: str
    attempt: int
    max_attempts: int
    holder: str
    attempted_at: datetime
    lease_expires_at: datetime


@dataclass(frozen=True, slots=True)
class QueueNow:
    """The queue at one instant, and the cursor from which its changes follow.

    `held` are the first HELD deliveries that workers hold.
    """

    depth: Depth
    held: Sequence[Held]
    cursor: Cursor


async def record_changes(connection: Connection, *, for_s: float) -> bool:
    """Has changes written for the next `for_s` seconds at least; whether they were all along.

    If not, cursors from before are of no use any more (`read_changes` says so). The connection
    must be in autocommit mode.
    """
    async with connection.cursor(row_factory=dict_row) as opened:
        await opened.execute(statement("record_events"), {"for_s": for_s})
        row = await opened.fetchone()
        went_on = row is not None and bool(row["went_on"])
        if not went_on:
            # In a transaction of its own, after the first: who was at work meanwhile did not write.
            await opened.execute(statement("disown_events"))
    return went_on


async def queue_now(connection: Connection) -> QueueNow:
    """The queue as it is, from which changes can be followed exactly: one snapshot shows it all.

    The connection must be in autocommit mode.
    """
    async with connection.transaction():
        await connection.execute("set transaction isolation level repeatable read, read only")
        async with connection.cursor(row_factory=class_row(Held)) as opened:
            await opened.execute(statement("held"), {"limit": HELD})
            held = await opened.fetchall()
        return QueueNow(await depth(connection), held, await cursor_now(connection))


async def cursor_now(connection: Connection) -> Cursor:
    """The cursor of whoever has seen everything that is committed at this moment."""
    async with connection.cursor(row_factory=dict_row) as opened:
        await opened.execute(statement("snapshot"))
        row = await opened.fetchone()
    if row is None:
        raise AssertionError
    return Cursor(Snapshot.parse(row["snapshot"]))


async def read_changes(
    connection: Connection, cursor: Cursor, *, limit: int = 200
) -> ChangePage | None:
    """Up to `limit` changes that follow the cursor; None if that cannot be told any more.

    It cannot if changes in between were deleted or not written, or if the cursor is from another
    database. Nothing is skipped and nothing comes twice, in whatever order transactions commit;
    the changes of one delivery come in the order in which they happened.
    """
    parameters = {
        "seen": str(cursor.seen),
        "upto": None if cursor.upto is None else str(cursor.upto),
        "after": cursor.seq,
        "limit": limit,
    }
    async with connection.cursor(row_factory=dict_row) as opened:
        try:
            await opened.execute(statement("events"), parameters)
        except psycopg.errors.InvalidTextRepresentation:
            return None
        rows = await opened.fetchall()
    if not rows or not rows[0]["connected"]:
        return None
    upto = cursor.upto or Snapshot.parse(rows[0]["snapshot"])
    changes = []
    for row in rows:
        del row["snapshot"], row["connected"]
        if row["seq"] is not None:
            row["written_by"] = int(row["written_by"])
            row["change"] = Kind(row["change"])
            row["from_status"] = None if row["from_status"] is None else Status(row["from_status"])
            row["to_status"] = Status(row["to_status"])
            changes.append(Change(**row))
    if len(changes) < limit:
        return ChangePage(changes, Cursor(upto), caught_up=cursor.upto is None)
    return ChangePage(changes, Cursor(cursor.seen, upto, changes[-1].seq), caught_up=False)


async def purge_changes(
    connection: Connection, *, keep: int = KEEP, keep_s: float = KEEP_S, limit: int = PURGE
) -> int:
    """Deletes up to `limit` changes beyond the newest `keep`, or older than `keep_s` seconds.

    Returns how many. Who has not read them yet is told so by `read_changes`.
    """
    cursor = await connection.execute(
        statement("purge_events"), {"keep": keep, "keep_s": keep_s, "limit": limit}
    )
    row = await cursor.fetchone()
    return 0 if row is None else int(row[0])
