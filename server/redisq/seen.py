"""What somebody sees who looks at a queue: plain data. Times are the server's, ms since 1970."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .figures import Recent
from .model import State

MOST_WORKERS = 50
"""Workers that one look shows, those that were heard of latest."""


@dataclass(frozen=True, slots=True)
class SeenWorker:
    """A worker, as its last heartbeat told of it; None what it did not say."""

    id: str
    beat_ms: int
    alive: bool
    """Whether it was heard of within the time of one lease, in which it speaks three times."""
    holds: int
    host: str | None
    pid: int | None
    concurrency: int | None
    tasks: Sequence[str]
    turned_ms: int | None
    """Since when the server has answered none of its turns, at that heartbeat."""
    turn_ms: float | None
    """How long the longest of its turns took since the heartbeat before."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the queue allows; None: everything."""

    concurrency: int | None
    rate_count: int | None
    rate_ms: int | None
    rate_wait_ms: int
    """Until the rate lets the next job start."""
    keep_done: int | None
    keep_dead: int | None


@dataclass(frozen=True, slots=True)
class Look:
    """A queue at one moment."""

    name: str
    now_ms: int
    counts: Mapping[State, int]
    paused: bool
    oldest_ms: int | None
    """For how long the job at the head of the line has been due."""
    next_due_ms: int | None
    """When the next scheduled job falls due."""
    overdue_leases: int
    limits: Limits
    totals: Mapping[str, int]
    """Since the queue began: enqueued, claimed, done, failed, late, lost, dead, dropped."""
    recent: Recent
    workers: Sequence[SeenWorker]

    @property
    def live(self) -> list[SeenWorker]:
        """Those that are alive."""
        return [worker for worker in self.workers if worker.alive]

    def is_gone(self, id_: str) -> bool:
        """Whether that worker has not been heard of; it may be one too many to be shown."""
        for worker in self.workers:
            if worker.id == id_:
                return not worker.alive
        return len(self.workers) < MOST_WORKERS

    def knows(self, task: str) -> bool:
        """Whether a worker that is alive knows the task."""
        return any(task in worker.tasks for worker in self.live)


@dataclass(frozen=True, slots=True)
class Row:
    """A job in a list: all of it but what it carries."""

    id: str
    state: State
    task: str
    priority: int
    attempts: int
    max_attempts: int
    lost: int
    queued_ms: int
    due_ms: int
    claimed_ms: int | None
    ended_ms: int | None
    lease_ms: int | None
    worker: str | None
    progress: float | None
    error: str | None
    reason: str | None
    cancel_asked: bool
    unknown_since_ms: int | None


@dataclass(frozen=True, slots=True)
class JobPage:
    """Some jobs of one state. `cursor` leads on, None at the end; `looked` were gone through."""

    rows: Sequence[Row]
    cursor: str | None
    looked: int
