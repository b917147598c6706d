"""What a chaos run leaves behind, to be checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

Note = dict[str, Any]
"""A line of the journal: `what` (run, verdict, failed), `id`, `token`, `at`, and more."""


class Window(NamedTuple):
    """A span, in seconds since 1970, of whose acknowledged writes the server may know nothing.

    `fsync`: it was killed before they were on the disk. `failover`: its replica, which took over,
    had not got them.
    """

    kind: Literal["fsync", "failover"]
    begin: float
    end: float

    def meets(self, begin: float, end: float) -> bool:
        """Whether something between these two may have happened in it."""
        return begin <= self.end and end >= self.begin


class Confirmed(NamedTuple):
    """When a producer sent a job for the last time, and had its answer."""

    sent: float
    answered: float
    safe: bool
    """A replica had it by then."""


class End(NamedTuple):
    """Where a job is when all is over, and what was counted of it."""

    state: str
    reason: str | None = None
    attempts: int = 0
    lost: int = 0
    given_back: int = 0


@dataclass
class Seen:
    """What is left when it is over."""

    confirmed: dict[str, Confirmed] = field(default_factory=dict)
    jobs: dict[str, End] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    windows: list[Window] = field(default_factory=list)
    unsound: dict[str, str] = field(default_factory=dict)
    faults: dict[str, int] = field(default_factory=dict)
    refused: int = 0
    """Enqueueings that were refused while memory was full."""
    unconfirmed: int = 0
    """Enqueueings of which too few replicas said that they had them."""
    unsafe_sent: float = 0.0
    """When the last job was sent that was acknowledged without a replica."""
    total_done: int = 0
    unended: int = 0

    def forgotten(self) -> list[str]:
        """Ids that were confirmed and are gone, and may be: see Window."""
        return [id_ for id_ in self.confirmed.keys() - self.jobs.keys() if self.excused(id_)]

    def excused(self, id_: str) -> bool:
        """Whether what was confirmed of this job may be gone."""
        sent, answered, safe = self.confirmed[id_]
        return any(
            window.meets(sent, answered) and not (safe and window.kind == "failover")
            for window in self.windows
        )
