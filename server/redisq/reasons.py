"""Why a job does not move, and what mends it. Nothing here reads a clock or a server."""

from __future__ import annotations

from typing import Literal, get_args

from .seen import Look, Row

Reason = Literal[
    "runs",
    "cancel-asked",
    "lease-overdue",
    "worker-gone",
    "paused",
    "no-worker",
    "no-handler",
    "concurrency",
    "rate",
    "next",
    "overdue",
    "retry-later",
    "lost-later",
    "due-later",
    "ended",
]
"""Why a job is where it is:

runs: a worker that lives holds it; cancel-asked: the same, and its next heartbeat ends it;
lease-overdue: its lease has run out and nobody has brought it back; worker-gone: its worker is not
heard of, and its lease has to run out; paused, concurrency, rate: the queue lets nobody claim it;
no-worker: no worker lives; no-handler: none of those that live knows its task; next: its turn
comes; overdue: it is due, and the next turn of a worker brings it back; retry-later, lost-later: it
waits out the pause after a failure, or after a worker that vanished; due-later: it was put off."""

Mend = Literal["bring-back", "give-up", "resume", "unlimit", "unrate", "promote", "retry", "start"]
"""What mends it; `start` is for whoever can start a worker."""

MENDS: dict[Reason, Mend | None] = {
    "runs": None,
    "cancel-asked": None,
    "lease-overdue": "bring-back",
    "worker-gone": "give-up",
    "paused": "resume",
    "no-worker": "start",
    "no-handler": "start",
    "concurrency": "unlimit",
    "rate": "unrate",
    "next": None,
    "overdue": None,
    "retry-later": "promote",
    "lost-later": "promote",
    "due-later": "promote",
    "ended": "retry",
}
MOVING: frozenset[Reason] = frozenset({"runs", "next", "overdue", "ended"})
"""These are no trouble."""


def reason_of(row: Row, look: Look) -> Reason:
    """Return why the job is where it is."""
    match row.state:
        case "active":
            return _of_active(row, look)
        case "ready":
            return _of_ready(row, look)
        case "scheduled":
            return _of_scheduled(row, look)
        case _:
            return "ended"


def _of_active(row: Row, look: Look) -> Reason:
    if row.lease_ms is not None and row.lease_ms <= look.now_ms:
        return "lease-overdue"
    if row.worker is not None and look.is_gone(row.worker):
        return "worker-gone"
    return "cancel-asked" if row.cancel_asked else "runs"


def _of_ready(row: Row, look: Look) -> Reason:
    limits = look.limits
    checks: list[tuple[bool, Reason]] = [
        (look.paused, "paused"),
        (not look.live, "no-worker"),
        (not look.knows(row.task), "no-handler"),
        (limits.concurrency is not None and look.counts["active"] >= limits.concurrency,
         "concurrency"),
        (limits.rate_wait_ms > 0, "rate"),
    ]  # fmt: skip
    return next((reason for holds, reason in checks if holds), "next")


def _of_scheduled(row: Row, look: Look) -> Reason:
    if row.unknown_since_ms is not None and not look.knows(row.task):
        return "no-handler"
    if row.due_ms <= look.now_ms:
        return "overdue" if look.live else "no-worker"
    if row.attempts:
        return "retry-later"
    return "lost-later" if row.lost else "due-later"


REASONS: tuple[Reason, ...] = get_args(Reason)
