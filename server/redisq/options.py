"""How a worker works."""

from __future__ import annotations

from dataclasses import dataclass, field

from .backoff import Backoff


@dataclass(frozen=True, kw_only=True)
class WorkerOptions:
    """How a worker works. `lease_s` bounds how long a job rests when its worker vanishes.

    `poll_s` bounds how long a lost wake-up costs. `grace_s` is for what runs when it must stop;
    after that it is given back. `unknown_s` is how long a job of an unknown name waits.
    """

    concurrency: int = 16
    lease_s: float = 30.0
    poll_s: float = 2.0
    grace_s: float = 20.0
    unknown_s: float = 600.0
    backoff: Backoff = field(default_factory=Backoff)

    def __post_init__(self) -> None:
        if self.concurrency < 1:
            raise ValueError("concurrency must be 1 or more")
        if min(self.lease_s, self.poll_s) <= 0 or min(self.grace_s, self.unknown_s) < 0:
            raise ValueError("spans of time must not be negative, lease and poll not 0")
