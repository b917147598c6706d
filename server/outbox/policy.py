"""The rules of the outbox. Pure: no I/O, no clock, no randomness, all of which are passed in."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .errors import ConfigurationError
from .model import Delivery, Failed, Outcome, Rejected, Sent, Settlement, Status

ERROR_LENGTH = 500
"""Longest `last_error` that is kept, in characters."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The figures that the outbox works by. Spans are in seconds.

    Raises ConfigurationError when a figure makes no sense, or when a send could outlive its
    lease: a send is started only while the lease still covers its time-out and the margin.
    """

    batch: int = 25
    concurrency: int = 10
    max_attempts: int = 5
    backoff_s: tuple[float, ...] = (30.0, 120.0, 480.0, 1920.0)
    backoff_jitter: float = 0.1
    lease_s: float = 300.0
    send_timeout_s: float = 10.0
    send_margin_s: float = 30.0
    poll_s: float = 5.0

    def __post_init__(self) -> None:
        for name in ("batch", "concurrency", "max_attempts"):
            if getattr(self, name) < 1:
                raise ConfigurationError(f"{name} must be at least 1, not {getattr(self, name)}")
        for name in ("lease_s", "send_timeout_s", "send_margin_s", "poll_s"):
            if not getattr(self, name) > 0:
                raise ConfigurationError(f"{name} must be more than 0, not {getattr(self, name)}")
        if not self.backoff_s or any(not pause >= 0 for pause in self.backoff_s):
            raise ConfigurationError("backoff_s needs at least one pause, none below 0")
        if not 0 <= self.backoff_jitter <= 1:
            raise ConfigurationError(f"backoff_jitter is a share, not {self.backoff_jitter}")
        if self.send_timeout_s + self.send_margin_s >= self.lease_s:
            raise ConfigurationError(
                f"a send may take {self.send_timeout_s:g} s and the margin is "
                f"{self.send_margin_s:g} s, but the lease is only {self.lease_s:g} s: a send could "
                "outlive its lease; lengthen the lease or shorten the time-out"
            )

    def scaled(self, scale: float) -> Policy:
        """The same policy with every span multiplied by `scale` (0 < scale <= 1)."""
        if not 0 < scale <= 1:
            raise ConfigurationError(f"the scale of time lies between 0 and 1, not at {scale:g}")
        return replace(
            self,
            backoff_s=tuple(pause * scale for pause in self.backoff_s),
            lease_s=self.lease_s * scale,
            send_timeout_s=self.send_timeout_s * scale,
            send_margin_s=self.send_margin_s * scale,
            poll_s=self.poll_s * scale,
        )


def backoff(policy: Policy, attempt: int, chance: float) -> float:
    """Seconds to wait after attempt number `attempt` (from 1) failed.

    `chance` in [0, 1) spreads the pause over the jitter's share; past the last pause it repeats.
    """
    pause = policy.backoff_s[min(attempt, len(policy.backoff_s)) - 1]
    return pause * (1 + policy.backoff_jitter * chance)


def decide(policy: Policy, delivery: Delivery, outcome: Outcome, chance: float) -> Settlement:
    """The settlement that an outcome leads to: sent, failed, pending again, or dead."""
    match outcome:
        case Sent():
            return Settlement(delivery.id, delivery.attempt, Status.SENT)
        case Rejected(error):
            return Settlement(delivery.id, delivery.attempt, Status.FAILED, error[:ERROR_LENGTH])
        case Failed(error):
            if delivery.attempt >= delivery.max_attempts:
                return Settlement(delivery.id, delivery.attempt, Status.DEAD, error[:ERROR_LENGTH])
            return Settlement(
                delivery.id,
                delivery.attempt,
                Status.PENDING,
                error[:ERROR_LENGTH],
                backoff(policy, delivery.attempt, chance),
            )


def covered(policy: Policy, *, now: float, lease_ends: float) -> bool:
    """Whether a send that starts at `now` is sure to end before the lease does."""
    return now + policy.send_timeout_s + policy.send_margin_s < lease_ends


def growing_pause(failures: int, *, first_s: float, most_s: float) -> float:
    """The pause before trying again after so many failures in a row: doubling, with a ceiling."""
    return min(first_s * 2.0 ** min(failures - 1, 30), most_s)
