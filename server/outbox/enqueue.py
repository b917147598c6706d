"""Adds deliveries in the caller's own transaction, over an asynchronous or a plain connection.

What happens is written once, as a generator that asks for statements; the two functions run them.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

from psycopg import AsyncConnection
from psycopg import Connection as SyncConnection
from psycopg.rows import dict_row

from .errors import OutboxError
from .model import NewDelivery
from .statements import statement
from .timing import timed
from .validation import PAYLOAD_BYTES, Check, payload_text

Row = dict[str, Any]
Ask = tuple[str, dict[str, object]]
"""The name of a statement, and its parameters."""


async def enqueue(  # noqa: PLR0913 - an option each
    connection: AsyncConnection[Any],
    deliveries: Sequence[NewDelivery],
    *,
    max_attempts: int = 5,
    wake: bool = True,
    most_bytes: int = PAYLOAD_BYTES,
    checks: Mapping[str, Check] | None = None,
) -> list[int]:
    """Adds deliveries in the caller's transaction and returns their ids in the given order.

    All of them or none. A delivery whose idempotency key exists already is not added: the id of
    the first one with that key is returned. `wake` notifies the workers when the transaction
    commits. `checks` gives for a channel's name what the channel has against a delivery; channels
    that are not in it are not asked. Raises InvalidDeliveryError, which names the field, before
    anything is written, and OutboxError if a key cannot be found although it stood in the way
    (its row was deleted in between, or the transaction's snapshot is too old to see it).
    """
    steps = _steps(
        deliveries, max_attempts=max_attempts, wake=wake, most_bytes=most_bytes, checks=checks
    )
    rows: list[Row] | None = None
    async with connection.cursor(row_factory=dict_row) as cursor:
        while True:
            try:
                name, parameters = steps.send(rows)
            except StopIteration as end:
                return list(end.value)
            with timed(name):
                await cursor.execute(statement(name), parameters)
                rows = await cursor.fetchall()


def enqueue_sync(  # noqa: PLR0913 - an option each
    connection: SyncConnection[Any],
    deliveries: Sequence[NewDelivery],
    *,
    max_attempts: int = 5,
    wake: bool = True,
    most_bytes: int = PAYLOAD_BYTES,
    checks: Mapping[str, Check] | None = None,
) -> list[int]:
    """The same as `enqueue` over a plain psycopg connection."""
    steps = _steps(
        deliveries, max_attempts=max_attempts, wake=wake, most_bytes=most_bytes, checks=checks
    )
    rows: list[Row] | None = None
    with connection.cursor(row_factory=dict_row) as cursor:
        while True:
            try:
                name, parameters = steps.send(rows)
            except StopIteration as end:
                return list(end.value)
            with timed(name):
                cursor.execute(statement(name), parameters)
                rows = cursor.fetchall()


def _steps(
    deliveries: Sequence[NewDelivery],
    *,
    max_attempts: int,
    wake: bool,
    most_bytes: int,
    checks: Mapping[str, Check] | None,
) -> Generator[Ask, list[Row] | None, list[int]]:
    """The statements one after another; is sent the rows of each, returns the ids."""
    payloads = [
        payload_text(
            place,
            delivery,
            most_bytes=most_bytes,
            check=None if checks is None else checks.get(delivery.channel),
        )
        for place, delivery in enumerate(deliveries)
    ]
    if not deliveries:
        return []
    added = yield (
        "enqueue",
        {
            "channels": [d.channel for d in deliveries],
            "recipients": [d.recipient for d in deliveries],
            "payloads": payloads,
            "keys": [d.idempotency_key for d in deliveries],
            "delays_s": [float(d.delay_s) for d in deliveries],
            "times": [d.send_at for d in deliveries],
            "max_attempts": max_attempts,
        },
    )
    added = added or []
    by_key = {row["idempotency_key"]: int(row["id"]) for row in added if row["idempotency_key"]}
    without_key = sorted(int(row["id"]) for row in added if row["idempotency_key"] is None)
    missing = {d.idempotency_key for d in deliveries if d.idempotency_key} - by_key.keys()
    if missing:
        found = yield "find_by_key", {"keys": sorted(missing)}
        by_key |= {row["idempotency_key"]: int(row["id"]) for row in found or []}
        if missing - by_key.keys():
            raise OutboxError(f"no delivery can be seen for {sorted(missing - by_key.keys())}")
    if added and wake:
        yield "wake", {}
    unkeyed = iter(without_key)
    return [by_key[d.idempotency_key] if d.idempotency_key else next(unkeyed) for d in deliveries]
