"""The nouns of the outbox. Values only: nothing here reads a clock or talks to a database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """Where a delivery stands."""

    PENDING = "pending"
    PROCESSING = "processing"
    SENT = "sent"
    FAILED = "failed"
    DEAD = "dead"


class Verdict(StrEnum):
    """What became of one outcome that a worker wrote."""

    APPLIED = "applied"
    LATE = "late"
    REPEATED = "repeated"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class NewDelivery:
    """A delivery that is to be enqueued. `payload` must be JSON; `delay_s` is in seconds.

    `send_at` is the time before which it is not sent, with its zone; one that has passed means now.
    """

    channel: str
    recipient: str
    payload: Mapping[str, Any]
    idempotency_key: str | None = None
    delay_s: float = 0.0
    send_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Delivery:
    """A delivery that a worker holds. `attempt` is the fence that every later write names."""

    id: int
    channel: str
    recipient: str
    payload: Mapping[str, Any]
    attempt: int
    max_attempts: int
    idempotency_key: str | None
    created_at: datetime
    due_at: datetime
    lease_expires_at: datetime


@dataclass(frozen=True, slots=True)
class Sent:
    """The receiver took it, and gave it a name of its own or none."""

    provider_id: str | None = None


@dataclass(frozen=True, slots=True)
class Rejected:
    """The receiver refused it for good. `code` is a short word for the kind of refusal."""

    error: str
    code: str = "refused"


@dataclass(frozen=True, slots=True)
class Failed:
    """The attempt failed; another may succeed, `after_s` seconds from now at the earliest.

    `code` is "error", "timeout", "retry-later" or "channel-down".
    """

    error: str
    code: str = "error"
    after_s: float = 0.0


Outcome = Sent | Rejected | Failed


@dataclass(frozen=True, slots=True)
class Settlement:
    """The write that an outcome leads to: the next status of a delivery, under its fence."""

    id: int
    attempt: int
    status: Status
    error: str | None = None
    delay_s: float = 0.0
    code: str | None = None
    provider_id: str | None = None


@dataclass(frozen=True, slots=True)
class Settled:
    """The answer to one settlement. `status` and `current_attempt` are None if the row is gone."""

    id: int
    attempt: int
    verdict: Verdict
    status: Status | None
    current_attempt: int | None


@dataclass(frozen=True, slots=True)
class Reaped:
    """A delivery whose lease ran out under `attempt`."""

    id: int
    attempt: int
    status: Status


@dataclass(frozen=True, slots=True)
class Depth:
    """How many deliveries there are in each state, exact at `as_of`."""

    as_of: datetime
    live_workers: int
    pending: int
    due: int
    scheduled: int
    retrying: int
    processing: int
    sent: int
    failed: int
    dead: int
    oldest_due_age_s: float | None


@dataclass(frozen=True, slots=True)
class LeftOver:
    """What waits: due for the channels asked about, due for others, and not due yet.

    `due_paused` is due as well, but an operator has paused its channel; `next_due_at` looks only
    at channels that are asked about and not paused. `due_channels` are those of `due`, by name.
    """

    due: int
    due_elsewhere: int
    waiting: int
    next_due_at: datetime | None
    due_paused: int = 0
    due_channels: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ChannelWaiting:
    """What is due in one channel, and since when the oldest of it has been."""

    due: int
    oldest_due_at: datetime


@dataclass(slots=True)
class Tally:
    """What a worker has done, counted."""

    claimed: int = 0
    sent: int = 0
    retried: int = 0
    failed: int = 0
    dead: int = 0
    released: int = 0
    lost: int = 0
    late: int = 0
    refused: int = 0
    reaped: int = 0

    def add(self, other: Tally) -> None:
        """Adds another tally to this one, field by field."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(frozen=True, slots=True)
class DrainReport:
    """What a drain did and what it left.

    `finished` is false when its time ran out first, or when a channel is `parked` because it
    failed too often: then `left` counts that channel's deliveries as due elsewhere. `too_short_for`
    names the channels for which something was left because a send may take longer than the time
    that there was, with those seconds.
    """

    finished: bool
    done: Tally = field(default_factory=Tally)
    left: LeftOver = field(default_factory=lambda: LeftOver(0, 0, 0, None))
    parked: tuple[str, ...] = ()
    too_short_for: dict[str, float] = field(default_factory=dict)
