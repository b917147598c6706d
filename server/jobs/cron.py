"""A cron line on the clock of a place, and what it means when that clock is changed. Pure.

The rule is that of Debian's cron, made exact:

- A line that names its hour and its minute means a time on the clock. A time that is skipped
  (02:30 when the clock goes from 02:00 to 03:00) comes right after the gap, once, however many of
  the line's times were skipped. A time that is repeated comes at its first pass, and not again.
- A line whose hour or minute begins with `*` means "again and again". It follows the clock as it
  is: what is skipped does not come, and what is repeated comes in both passes.

cronsim reads the line and finds the next time on a clock that is never changed. Everything that a
zone does to the clock is done here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from server.jobs.errors import InvalidTriggerError

FIELDS = 5
DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)
LONGEST_CHANGE = timedelta(days=1)
"""By how much a clock has ever been changed at once."""


@dataclass(frozen=True)
class Cron:
    """A cron line (minute, hour, day, month, weekday) on the clock of an IANA time zone.

    Raises InvalidTriggerError for a line or a zone that is none, and for a line that never comes.
    """

    line: str
    zone: str = "UTC"

    def __post_init__(self) -> None:
        if len(self.line.split()) != FIELDS:
            raise InvalidTriggerError(
                f"a cron line has five fields (minute, hour, day, month, weekday), "
                f"unlike {self.line!r}"
            )
        try:
            _ = self._place
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise InvalidTriggerError(f"{self.zone!r} is no IANA time zone") from error
        try:
            came = next(CronSim(self.line, datetime(2000, 1, 1)), None)  # noqa: DTZ001 - a clock
        except CronSimError as error:
            raise InvalidTriggerError(f"{self.line!r} is no cron line: {error}") from error
        if came is None:
            raise InvalidTriggerError(f"{self.line!r} never comes")

    @cached_property
    def _place(self) -> ZoneInfo:
        return ZoneInfo(self.zone)

    @property
    def again_and_again(self) -> bool:
        """Whether the line follows the clock as it is, instead of naming times on it."""
        minute, hour = self.line.split()[:2]
        return minute.startswith("*") or hour.startswith("*")

    def after(self, instant: datetime) -> Iterator[datetime]:
        """The line's instants after this one, in order, in UTC; it may end, decades from now."""
        instant = instant.astimezone(UTC)
        yield from self._as_it_is(instant) if self.again_and_again else self._named(instant)

    def _named(self, instant: datetime) -> Iterator[datetime]:
        # What was skipped lies before the clock's time now, and may still be to come.
        begin = self._clock(instant) - LONGEST_CHANGE
        last = instant
        for time in CronSim(self.line, begin):
            found = self._instant(time)
            if found > last:
                last = found
                yield found

    def _as_it_is(self, instant: datetime) -> Iterator[datetime]:
        begin, offset = instant, self._offset(instant)
        while True:
            found = None
            for time in CronSim(self.line, (begin + offset).replace(tzinfo=None)):
                found = time.replace(tzinfo=UTC) - offset
                if self._offset(found) != offset:
                    break
                instant = found
                yield found
            else:
                return
            instant = self._change(instant, found)
            # The change may itself be one of the line's instants.
            begin, offset = instant - SECOND, self._offset(instant)

    def _instant(self, time: datetime) -> datetime:
        """When the clock shows this time first, or the end of the gap in which it would be."""
        first = time.replace(tzinfo=self._place, fold=0).astimezone(UTC)
        if self._clock(first) == time:
            return first
        return _first(first - LONGEST_CHANGE, first, lambda one: self._clock(one) >= time)

    def _change(self, before: datetime, after: datetime) -> datetime:
        """The first instant in between at which the clock is another than at `before`."""
        offset = self._offset(before)
        while before + DAY < after and self._offset(before + DAY) == offset:
            before += DAY
        high = min(before + DAY, after)
        return _first(before, high, lambda one: self._offset(one) != offset)

    def _clock(self, instant: datetime) -> datetime:
        """What the clock shows then, without a zone."""
        return instant.astimezone(self._place).replace(tzinfo=None, fold=0)

    def _offset(self, instant: datetime) -> timedelta:
        offset = instant.astimezone(self._place).utcoffset()
        return timedelta(0) if offset is None else offset

    def __str__(self) -> str:
        return f"{self.line} ({self.zone})"


def _first(low: datetime, high: datetime, holds: Callable[[datetime], bool]) -> datetime:
    """The first whole second for which it holds, if it does for `high` and not for `low`."""
    low = low.replace(microsecond=0)
    while high - low > SECOND:
        middle = low + SECOND * ((high - low) // SECOND // 2)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
