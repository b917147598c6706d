"""When a job is due, and what becomes of the ticks that nobody was there for. Pure."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import takewhile

from server.jobs.cron import Cron
from server.jobs.errors import InvalidTriggerError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SHORTEST_S = 1.0
LOOK_BACK = timedelta(hours=1)
WIDER = 8


@dataclass(frozen=True)
class Every:
    """An interval in seconds, counted from the epoch, so that every server sees the same ticks.

    Raises InvalidTriggerError for one that is shorter than a second.
    """

    seconds: float

    def __post_init__(self) -> None:
        if not self.seconds >= SHORTEST_S:
            raise InvalidTriggerError(
                f"an interval is at least {SHORTEST_S:g} s long, not {self.seconds:g} s"
            )

    def after(self, instant: datetime) -> Iterator[datetime]:
        """The ticks after this instant, in order, without an end."""
        step = timedelta(seconds=self.seconds)
        number = (instant - EPOCH) // step
        while True:
            number += 1
            yield EPOCH + number * step

    def __str__(self) -> str:
        return f"every {self.seconds:g} s"


Trigger = Cron | Every


@dataclass(frozen=True)
class CatchUp:
    """What becomes of ticks that were missed: a server was down, or the run before took too long.

    `most` is how many of them are still run, the latest ones, one after the other: 0 skips them
    all, 1 runs once for all of them. A tick that is at most `grace_s` seconds old is no missed
    one; it is late, and runs.
    """

    most: int = 1
    grace_s: float = 60.0

    def __str__(self) -> str:
        return {0: "skip", 1: "once"}.get(self.most, f"each, up to {self.most}")


SKIP = CatchUp(0)
ONCE = CatchUp(1)


@dataclass(frozen=True)
class Decision:
    """The ticks to run now, in order.

    `passed_over` is the last tick that is not run and never will be, nor any before it; None if
    there is none.
    """

    ticks: Sequence[datetime] = ()
    passed_over: datetime | None = None


def ticks_after(triggers: Sequence[Trigger], instant: datetime) -> Iterator[datetime]:
    """The ticks of all triggers after this instant, in order; what coincides is one tick."""
    last = instant
    for tick in heapq.merge(*(trigger.after(instant) for trigger in triggers)):
        if tick > last:
            last = tick
            yield tick


def next_due(triggers: Sequence[Trigger], instant: datetime) -> datetime | None:
    """The first tick after this instant; None if there is none."""
    return next(ticks_after(triggers, instant), None)


def decide(
    triggers: Sequence[Trigger], rule: CatchUp, *, decided_until: datetime, now: datetime
) -> Decision:
    """What is to be run at `now`, if every tick up to `decided_until` has been dealt with.

    However long ago that was, the time this takes depends on the rule alone.
    """
    latest = _latest(triggers, max(1, rule.most) + 1, after=decided_until, until=now)
    if not latest:
        return Decision()
    late = now - latest[-1] <= timedelta(seconds=rule.grace_s)
    cut = max(0, len(latest) - max(rule.most, int(late)))
    return Decision(latest[cut:], latest[cut - 1] if cut else None)


def _latest(
    triggers: Sequence[Trigger], most: int, *, after: datetime, until: datetime
) -> list[datetime]:
    """The latest ticks in between, `until` included: `most` of them, or all if they are fewer."""
    span = LOOK_BACK
    while True:
        begin = max(after, until - span)
        found = list(takewhile(lambda tick: tick <= until, ticks_after(triggers, begin)))
        if begin == after or len(found) >= most:
            return found[-most:]
        span *= WIDER
