"""What is left of a chaos run when it is over: all that the checker looks at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.chaos.receiver import Call

OPERATOR = "operator"
EVERYBODY = "*"
"""The target of a fault that hits every worker."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that was done to a worker. Times are seconds since 1970.

    `hit` is false if it found nothing to hit in time; it may have done harm all the same.
    """

    kind: str
    target: str
    began: float
    ended: float
    hit: bool = True


@dataclass(frozen=True, slots=True)
class Change:
    """One committed change of a delivery; `old_status` is None when it was added."""

    seq: int
    at: float
    writer: str
    id: int
    old_status: str | None
    status: str
    old_attempts: int | None
    attempts: int
    max_attempts: int
    old_holder: str | None
    holder: str | None
    old_lease: float | None


@dataclass(frozen=True, slots=True)
class Row:
    """A delivery as it was in the end."""

    id: int
    status: str
    attempts: int
    key: str
    error: str | None
    settle_class: str | None


@dataclass(slots=True)
class Record:
    """Everything: what producers heard, what the database and the receiver saw, what was done."""

    acknowledged: set[str] = field(default_factory=set)
    undone: set[str] = field(default_factory=set)
    rows: list[Row] = field(default_factory=list)
    history: list[Change] = field(default_factory=list)
    retried: int = 0
    cancelled: int = 0
    verdicts: Mapping[str, int] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    effects: Mapping[int, int] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    depth: Mapping[str, int] = field(default_factory=dict)
    recount: Mapping[str, int] = field(default_factory=dict)
