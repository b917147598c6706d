"""Which channels a worker leaves alone at present: one breaker a channel, for this process only."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from .breaker import HEALTHY, Standing
from .model import Failed, Outcome
from .policy import ChannelPolicy

log = logging.getLogger(__name__)


class Parking:
    """The breakers of a worker's channels. `most_s` bounds how long a channel is parked."""

    def __init__(
        self,
        figures: Mapping[str, ChannelPolicy],
        *,
        most_s: float,
        clock: Callable[[], float],
    ) -> None:
        self._figures = figures
        self._most_s = most_s
        self._clock = clock
        self._breakers = dict.fromkeys(figures, HEALTHY)

    def standing(self, *which: Standing) -> list[str]:
        """The channels that stand so now."""
        now = self._clock()
        return [name for name, one in self._breakers.items() if one.standing(now) in which]

    def usable(self) -> list[str]:
        """The channels that may be claimed for: those that are not parked."""
        return self.standing(Standing.OPEN, Standing.PROBING)

    def over_in(self) -> float | None:
        """Seconds until the first parked channel is probed; None if none is parked."""
        now = self._clock()
        untils = [one.until for one in self._breakers.values() if one.until is not None]
        return min((until - now for until in untils if until > now), default=None)

    def judge(self, channel: str, outcome: Outcome) -> bool:
        """Notes an outcome, and says so in the log if it parks or opens the channel.

        Returns whether the channel has been parked by it.
        """
        before = self._breakers[channel]
        if before is HEALTHY and not isinstance(outcome, Failed):
            return False
        now = self._clock()
        after = before.after(outcome, self._figures[channel], most_s=self._most_s, now=now)
        self._breakers[channel] = after
        if after.until is None:
            if before.until is not None:
                log.info(
                    "channel %s works again",
                    channel,
                    extra={"action": "channel-unparked", "channel": channel},
                )
            return False
        if after.until == before.until:
            return False
        log.warning(
            "parked channel %s for %.1f s: %s",
            channel,
            after.until - now,
            outcome.error if isinstance(outcome, Failed) else "",
            extra={"action": "channel-parked", "channel": channel},
        )
        return True
