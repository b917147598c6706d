"""The statements of the outbox as functions: each runs one statement on the connection it gets.

Nothing here opens or commits a transaction. On a connection in autocommit mode each call stands
for itself.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from typing import Any

from psycopg import AsyncClientCursor, AsyncConnection
from psycopg.rows import dict_row

from .model import (
    ChannelWaiting,
    Delivery,
    Depth,
    LeftOver,
    Reaped,
    Settled,
    Settlement,
    Status,
    Verdict,
)
from .statements import statement
from .timing import timed

CHANNEL = "notification_deliveries"
"""The name that workers LISTEN on."""

Connection = AsyncConnection[Any]


async def _rows(
    connection: Connection, name: str, parameters: dict[str, object] | None = None
) -> list[dict[str, Any]]:
    with timed(name):
        async with connection.cursor(row_factory=dict_row) as cursor:
            await cursor.execute(statement(name), parameters)
            return await cursor.fetchall()


async def claim(
    connection: Connection, *, holder: str, channels: Iterable[str], limit: int, lease_s: float
) -> list[Delivery]:
    """Takes up to `limit` due deliveries of these channels, oldest first, under a lease.

    No other claimant gets them while the lease holds, and `attempt` has risen by one.
    """
    with timed("claim"):
        cursor = await connection.execute(
            statement("claim"), _claim_parameters(holder, channels, limit, lease_s)
        )
        return _claimed(await cursor.fetchall())


async def settle(
    connection: Connection, settlements: Sequence[Settlement], *, holder: str | None = None
) -> list[Settled]:
    """Writes outcomes, each under its fence, and returns one verdict for each of them.

    `holder` is who writes, for the attempt log: there a refused write would have no name.
    """
    if not settlements:
        return []
    with timed("settle"):
        cursor = await connection.execute(
            statement("settle"), _settle_parameters(settlements, holder)
        )
        return _settled(await cursor.fetchall())


async def exchange(  # noqa: PLR0913 - what a settle and a claim need
    connection: Connection,
    settlements: Sequence[Settlement],
    *,
    holder: str,
    channels: Collection[str],
    limit: int,
    lease_s: float,
) -> tuple[list[Settled], list[Delivery]]:
    """Settles and then claims: both or nothing, as one transaction in one round trip.

    Both statements go as one message of the simple protocol, which PostgreSQL takes as one
    transaction. So this needs a connection in autocommit mode, passes through a pooler in
    transaction mode, and prepares nothing. (A pipeline would do the same for three times the time
    of the client's processor: docs/decisions/outbox-speed.md.)
    """
    if not channels:
        return await settle(connection, settlements, holder=holder), []
    if not settlements:
        return [], await claim(
            connection, holder=holder, channels=channels, limit=limit, lease_s=lease_s
        )
    with timed("settle+claim"):
        cursor = AsyncClientCursor(connection)
        await cursor.execute(
            _both(statement("settle"), statement("claim")),
            _settle_parameters(settlements, holder)
            | _claim_parameters(holder, channels, limit, lease_s),
        )
        answers = _settled(await cursor.fetchall())
        cursor.nextset()
        return answers, _claimed(await cursor.fetchall())


@cache
def _both(first: bytes, second: bytes) -> bytes:
    """Two statements as one text, short enough for psycopg to remember what it found in it."""
    return b"; ".join(b" ".join(text.split()) for text in (first, second))


def _claim_parameters(
    holder: str, channels: Iterable[str], limit: int, lease_s: float
) -> dict[str, object]:
    return {"holder": holder, "channels": sorted(channels), "limit": limit, "lease_s": lease_s}


def _claimed(rows: list[tuple[Any, ...]]) -> list[Delivery]:
    """What claim.sql returns: Delivery's fields in their order, the payload as text."""
    return [
        Delivery(number, channel, recipient, _parsed(payload)[0], *rest)
        for number, channel, recipient, payload, *rest in rows
    ]


def _settle_parameters(settlements: Sequence[Settlement], holder: str | None) -> dict[str, object]:
    return {
        "ids": literal(s.id for s in settlements),
        "attempts": literal(s.attempt for s in settlements),
        "statuses": literal(s.status.value for s in settlements),
        "errors": _texts([s.error for s in settlements]),
        "delays_s": literal(s.delay_s for s in settlements),
        "codes": _texts([s.code for s in settlements]),
        "provider_ids": _texts([s.provider_id for s in settlements]),
        "holder": holder,
    }


def _texts(values: list[str | None]) -> list[str | None] | str:
    """The same for texts, which need quotes, unless there is none among them."""
    return values if any(v is not None for v in values) else literal(["NULL"] * len(values))


def literal(values: Iterable[object]) -> str:
    """An array as PostgreSQL reads it, of values that need no quotes; psycopg takes far longer."""
    return "{" + ",".join(map(str, values)) + "}"


# PostgreSQL writes a jsonb without white space around it, which json.loads would look for.
_parsed = json.JSONDecoder().raw_decode
VERDICTS = {verdict.value: verdict for verdict in Verdict}
STATUSES: dict[str | None, Status | None] = {None: None} | {one.value: one for one in Status}


def _settled(rows: list[tuple[Any, ...]]) -> list[Settled]:
    return [
        Settled(number, attempt, VERDICTS[verdict], STATUSES[status], current)
        for number, attempt, verdict, status, current in rows
    ]


async def reap(connection: Connection, *, limit: int = 200) -> list[Reaped]:
    """Gives back up to `limit` deliveries whose lease ran out: pending again, or dead."""
    rows = await _rows(connection, "reap", {"limit": limit})
    return [Reaped(row["id"], row["attempt"], Status(row["status"])) for row in rows]


async def extend(
    connection: Connection, deliveries: Sequence[Delivery], *, lease_s: float
) -> set[int]:
    """Renews leases from now on and returns the ids of those that were still held and good."""
    rows = await _rows(connection, "extend", {**fences(deliveries), "lease_s": lease_s})
    return {row["id"] for row in rows}


async def release(connection: Connection, deliveries: Sequence[Delivery]) -> set[int]:
    """Hands back deliveries that were not started and returns the ids of those still held."""
    if not deliveries:
        return set()
    return {row["id"] for row in await _rows(connection, "release", fences(deliveries))}


def fences(deliveries: Sequence[Delivery]) -> dict[str, object]:
    """The parameters by which a statement names what is held: ids, and the attempt of each."""
    return {
        "ids": literal(d.id for d in deliveries),
        "attempts": literal(d.attempt for d in deliveries),
    }


async def depth(connection: Connection) -> Depth:
    """How many deliveries there are in each state, exact at one instant."""
    [row] = await _rows(connection, "depth")
    return Depth(**row)


async def recount(connection: Connection) -> dict[Status, int]:
    """Counts the rows themselves; for checking `depth`, at the cost of a scan."""
    counted = {Status(row["status"]): row["rows"] for row in await _rows(connection, "recount")}
    return {status: counted.get(status, 0) for status in Status}


async def fold(connection: Connection, *, most: int = 10_000, worth: int = 200) -> int:
    """Sums up the deltas behind `depth` if at least `worth` lie there; returns how many it took."""
    [row] = await _rows(connection, "deltas_waiting", {"limit": worth})
    if row["waiting"] < worth:
        return 0
    [row] = await _rows(connection, "fold", {"limit": most})
    return int(row["folded"])


async def seconds_to_next(connection: Connection, channels: Iterable[str]) -> float | None:
    """Seconds until something falls due for these channels or a lease runs out; None if never."""
    [row] = await _rows(connection, "next_due", {"channels": sorted(channels)})
    return None if row["seconds"] is None else float(row["seconds"])


async def left_over(connection: Connection, channels: Iterable[str]) -> LeftOver:
    """What waits at this moment, seen from a worker that knows these channels."""
    [row] = await _rows(connection, "left_over", {"channels": sorted(channels)})
    return LeftOver(**row)


async def channels_waiting(connection: Connection) -> dict[str, ChannelWaiting]:
    """What is due in each channel, those included that no worker knows; costs a scan of it."""
    rows = await _rows(connection, "channels_waiting")
    return {row["channel"]: ChannelWaiting(row["due"], row["oldest_due_at"]) for row in rows}
