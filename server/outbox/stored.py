"""Deliveries as they lie in the table, for people who look after them. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from .errors import OutboxError
from .model import Status

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class StoredDelivery:
    """A delivery without its payload. `next_attempt_at` means something while it is pending."""

    id: int
    channel: str
    recipient: str
    status: Status
    attempts: int
    max_attempts: int
    created_at: datetime
    next_attempt_at: datetime
    attempted_at: datetime | None
    settled_at: datetime | None
    settle_class: str | None
    last_error: str | None
    idempotency_key: str | None
    holder: str | None
    lease_expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt: who held the delivery, from when to when, and what came of it.

    A write that was refused because the delivery had moved on has its verdict 'refused'.
    """

    attempt: int
    holder: str | None
    claimed_at: datetime | None
    ended_at: datetime | None
    outcome: str | None
    settle_class: str | None
    error: str | None
    provider_id: str | None
    verdict: str | None


@dataclass(frozen=True, slots=True)
class ShownDelivery:
    """A delivery with its payload and its attempts, oldest first."""

    delivery: StoredDelivery
    payload: Mapping[str, Any]
    attempts: list[Attempt]


@dataclass(frozen=True, slots=True)
class DeliveryPage:
    """Some deliveries, and where the next ones begin; None at the end."""

    deliveries: list[StoredDelivery]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class ChannelState:
    """What waits for a channel, and whether it is paused (`paused_at` is not None)."""

    channel: str
    pending: int
    due: int
    paused_at: datetime | None
    reason: str | None


class InvalidCursorError(OutboxError):
    """A cursor that none of our pages ended with."""


def cursor_after(status: Status | None, last: StoredDelivery) -> str:
    """The cursor of the page that follows `last` in the order of a list of `status`."""
    match status:
        case None | Status.PROCESSING:
            return str(last.id)
        case Status.PENDING:
            at = last.next_attempt_at
        case Status.SENT | Status.FAILED | Status.DEAD:
            if last.settled_at is None:
                raise AssertionError(last)
            at = last.settled_at
    return f"{(at - EPOCH) // timedelta(microseconds=1)}.{last.id}"


def position(status: Status | None, cursor: str | None) -> dict[str, object]:
    """The parameters `at` and `id` that a cursor stands for. Raises InvalidCursorError."""
    if cursor is None:
        return {"at": None, "id": None}
    timed = status not in {None, Status.PROCESSING}
    parts = cursor.split(".")
    if len(parts) != 1 + timed or not all(part.isascii() and part.isdigit() for part in parts):
        raise InvalidCursorError(f"{cursor!r} is no cursor of this list")
    try:
        number = int(parts[-1])
        at = EPOCH + timedelta(microseconds=int(parts[0])) if timed else None
    except (ValueError, OverflowError) as error:
        raise InvalidCursorError(f"{cursor[:40]!r}… is no cursor of this list") from error
    if number >= 1 << 63:
        raise InvalidCursorError(f"{cursor!r} is no cursor of this list")
    return {"at": at, "id": number}
