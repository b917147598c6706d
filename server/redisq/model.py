"""What the queue speaks of: plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

State = Literal["ready", "scheduled", "active", "done", "dead"]
STATES: tuple[State, ...] = ("ready", "scheduled", "active", "done", "dead")

Kind = Literal["done", "retry", "dead", "release", "snooze", "cancelled"]
Verdict = Literal["ok", "late"]


@dataclass(frozen=True, slots=True)
class Claim:
    """A job that this worker holds, as it was claimed. Times are the server's, in ms since 1970."""

    id: str
    token: int
    """Grows with every claim of the queue; whatever a run writes is written under it."""
    task: str
    payload: bytes
    attempts: int
    """Failures so far."""
    lost: int
    """Workers that vanished with it so far."""
    timeout_ms: int
    queued_ms: int
    due_ms: int
    max_attempts: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one run ended. `text` is the result, or the error."""

    id: str
    token: int
    kind: Kind
    delay_ms: int = 0
    text: bytes = b""


@dataclass(frozen=True, slots=True)
class Question:
    """What any worker that takes a turn may be asked: the next time of a series.

    That is the first one later than `after_ms`, in ms since 1970.
    """

    name: str
    version: int
    cron: str
    zone: str
    after_ms: int


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn's answer."""

    now_ms: int
    verdicts: list[Verdict]
    """One for each outcome that was sent: `late` if the job was not this run's any longer."""
    claims: list[Claim]
    due_ms: int | None
    """Until something falls due; None when nothing will."""
    paused: bool
    more: bool = False
    """Whether the queue would have given more than was wanted."""
    questions: list[Question] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Job:
    """A job as it is now. Times are the server's, in ms since 1970; None where it has none."""

    id: str
    state: State
    task: str
    payload: Any
    priority: int
    attempts: int
    max_attempts: int
    lost: int
    token: int
    queued_ms: int
    due_ms: int
    claimed_ms: int | None
    ended_ms: int | None
    lease_ms: int | None
    """Until the lease of its worker runs out."""
    worker: str | None
    progress: float | None
    error: str | None
    reason: str | None
    """Why it is dead: exhausted, refused, lost, no-handler, cancelled."""
    result: Any
    unique: str | None
    log: list[tuple[int, str, str]]
    """What was not the usual course: (when, what, detail)."""


@dataclass(frozen=True, slots=True)
class Purged:
    """What one call of `Queue.purge` did."""

    gone: int
    looked: int
    cursor: int | None
    """Where to go on; None at the end."""


@dataclass(frozen=True, slots=True)
class Depth:
    """How many jobs are where, and for how long the one that is next has been due."""

    ready: int
    scheduled: int
    active: int
    done: int
    dead: int
    next_ready_ms: int | None
    paused: bool
