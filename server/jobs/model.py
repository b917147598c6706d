"""A run of a job, from its claim to its end."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any


class Waker(StrEnum):
    """What kind of thing woke a job."""

    CRON = "cron"
    INTERVAL = "interval"
    CLICK = "click"
    CALL = "call"
    COMMAND = "command"


class Outcome(StrEnum):
    """How a run ended; a run that goes on is `running`."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed-out"
    CANCELLED = "cancelled"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Claim:
    """A run that has begun: nobody else runs this job while its lease lasts.

    `fence` is the job's own count of its runs. It only grows, and whatever is written in the name
    of a run is refused once it has.
    """

    job: str
    run: int
    fence: int
    scheduled_for: datetime | None
    started_at: datetime


@dataclass(frozen=True, slots=True)
class Run:
    """A run as it is remembered. Spans are in seconds, sizes in bytes.

    `scheduled_for` is the tick that it is for; None if somebody woke it by hand. `cpu_s` and
    `memory_bytes` (the most at one time) are those of the process that existed for it alone.
    """

    id: int
    job: str
    fence: int
    waker: Waker
    woken_by: str
    scheduled_for: datetime | None
    started_at: datetime
    ended_at: datetime | None
    took_s: float | None
    outcome: Outcome
    error: str | None
    report: dict[str, Any] | None
    holder: str
    cancelled_by: str | None
    cpu_s: float | None
    memory_bytes: int | None


@dataclass(frozen=True, slots=True)
class JobState:
    """What the database knows of a job at `now`. `run` is what runs, until `lease_expires_at`."""

    job: str
    fence: int
    decided_until: datetime
    run: int | None
    lease_expires_at: datetime | None
    now: datetime

    @property
    def busy(self) -> bool:
        """Whether a run holds it."""
        return self.lease_expires_at is not None and self.lease_expires_at > self.now


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended, and what it cost; the costs are None if they cannot be told apart."""

    outcome: Outcome
    error: str | None = None
    report: dict[str, Any] | None = None
    cpu_s: float | None = None
    memory_bytes: int | None = None
