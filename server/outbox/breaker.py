"""When a channel is left alone for a while. Pure: the time is passed in, on any steady clock."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from .model import Failed, Outcome, Rejected, Sent
from .policy import ChannelPolicy, growing_pause

BLAMELESS = frozenset({"retry-later", "stopped"})
"""Kinds of failure that say nothing against the channel."""


class Standing(StrEnum):
    """How a channel stands with a worker."""

    OPEN = "open"
    PARKED = "parked"
    PROBING = "probing"


@dataclass(frozen=True, slots=True)
class Breaker:
    """What one worker knows of one channel: failures in a row, and until when it is parked.

    A parked channel gets nothing until `until`; then one delivery is its probe. `parked` counts
    how often in a row it was parked, by which the pause doubles.
    """

    failures: int = 0
    parked: int = 0
    until: float | None = None

    def standing(self, now: float) -> Standing:
        """Whether the channel gets deliveries, none, or one."""
        if self.until is None:
            return Standing.OPEN
        return Standing.PARKED if now < self.until else Standing.PROBING

    def after(
        self, outcome: Outcome, channel: ChannelPolicy, *, most_s: float, now: float
    ) -> Breaker:
        """The breaker after an outcome at `now`; a pause never gets longer than `most_s`.

        Whatever the receiver answered itself closes it, a refusal too: it was there to refuse.
        Sends that began before the channel was parked may still fail; that changes nothing.
        """
        standing = self.standing(now)
        match outcome:
            case Sent() | Rejected():
                return HEALTHY
            case Failed(code="retry-later") if standing is Standing.PROBING:
                return HEALTHY
            case Failed(code=code) if code in BLAMELESS or standing is Standing.PARKED:
                return self
        failures = self.failures + 1
        if standing is Standing.OPEN and failures < channel.breaker_failures:
            return Breaker(failures)
        parked = self.parked + 1
        pause = growing_pause(parked, first_s=channel.breaker_pause_s, most_s=most_s)
        return Breaker(failures, parked, now + pause)


HEALTHY = Breaker()
"""Of a channel that has not failed since it last worked."""
