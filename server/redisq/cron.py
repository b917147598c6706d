"""When a cron line is due, by the clocks of a zone. No I/O but a look at the zone's rules."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

if TYPE_CHECKING:
    from collections.abc import Iterator

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
LONGEST = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
"""Days that each month has at most."""
MOST_DAYS = 8 * 366 + 1
"""From a 29 February to the next there are eight years at most, around 2100."""


@dataclass(frozen=True, slots=True)
class _Field:
    """What one field may say."""

    name: str
    least: int
    most: int
    words: tuple[str, ...] = ()
    """Names, the first of which is `least`."""


FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of the month", 1, 31),
    _Field("month", 1, 12, MONTHS),
    # Sunday is 0, and 7 as well.
    _Field("day of the week", 0, 7, WEEKDAYS),
)


@dataclass(frozen=True, slots=True)
class Cron:
    """A line such as `*/15 8-17 * * mon-fri`, understood.

    Minute, hour, day of the month, month, day of the week: each `*`, a number, a range `a-b`,
    either with a step (`*/5`, `8-18/2`, `5/10` from 5 on), or a list of these; months and days of
    the week by number or by three letters, Sunday is 0 or 7. If both kinds of day are restricted,
    one of them is enough, as cron has always had it.
    """

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either: bool
    """Whether one kind of day is enough."""

    def next(self, after: datetime, zone: ZoneInfo) -> datetime:
        """Return the first time later than `after`, in UTC.

        Where the clocks of the zone are put forward, what falls into the hour that is skipped is
        due once, when it ends. Where they are put back, the hour that comes twice counts the first
        time. Raises OverflowError past the year 9999.
        """
        local = after.astimezone(zone).replace(tzinfo=None, fold=0)
        for wall in self._walls(local.replace(second=0, microsecond=0)):
            at = _instant(wall, zone)
            if at > after:
                return at
        raise OverflowError("there is no such time")

    def _walls(self, first: datetime) -> Iterator[datetime]:
        """Give the wall-clock times from the first on, in their order."""
        for number in range(MOST_DAYS):
            day = first.date() + timedelta(days=number)
            if not self._has(day):
                continue
            for hour, minute in itertools.product(self.hours, self.minutes):
                wall = datetime.combine(day, time(hour, minute))
                if wall >= first:
                    yield wall

    def _has(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        by_date, by_weekday = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return by_date or by_weekday if self.either else by_date and by_weekday


@lru_cache(maxsize=256)
def parsed(line: str) -> Cron:
    """Return what the line says. Raises ValueError with the field that is wrong."""
    words = line.lower().split()
    if len(words) != len(FIELDS):
        raise ValueError(f"a cron line has five fields, not {len(words)}")
    minutes, hours, days, months, weekdays = (
        _values(word, field) for word, field in zip(words, FIELDS, strict=True)
    )
    weekdays = {number % 7 for number in weekdays}
    # A field that begins with a star leaves the day to the other.
    either = not words[2].startswith("*") and not words[4].startswith("*")
    if not either and not any(min(days) <= LONGEST[month - 1] for month in months):
        raise ValueError("there is no such day in these months")
    return Cron(
        tuple(sorted(minutes)),
        tuple(sorted(hours)),
        frozenset(days),
        frozenset(months),
        frozenset(weekdays),
        either,
    )


def _values(text: str, field: _Field) -> set[int]:
    values: set[int] = set()
    for part in text.split(","):
        span, slash, step = part.partition("/")
        try:
            values.update(_span(span, field, open_ended=bool(slash))[:: _step(step, slash)])
        except ValueError as error:
            raise ValueError(f"the {field.name}: {part!r} {error}") from None
    return values


def _step(text: str, slash: str) -> int:
    if not slash:
        return 1
    if not (text.isascii() and text.isdecimal()) or int(text) < 1:
        raise ValueError("has a step that is no number from 1 on")
    return int(text)


def _span(text: str, field: _Field, *, open_ended: bool) -> range:
    if text == "*":
        # Sunday once.
        return range(field.least, field.most + (field.words is not WEEKDAYS))
    first, dash, last = text.partition("-")
    begin = _number(first, field)
    end = begin
    if dash:
        end = _number(last, field)
    elif open_ended:
        end = field.most
    if end < begin:
        raise ValueError("ends before it begins")
    return range(begin, end + 1)


def _number(text: str, field: _Field) -> int:
    if text in field.words:
        return field.words.index(text) + field.least
    if not (text.isascii() and text.isdecimal()) or not field.least <= int(text) <= field.most:
        raise ValueError(f"is not from {field.least} to {field.most}")
    return int(text)


def _instant(wall: datetime, zone: ZoneInfo) -> datetime:
    """Return the time, in UTC, at which the zone's clocks show this first, or go past it."""
    early, late = (wall.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (1, 0))
    if late <= early:
        return late
    # The clocks skip it, somewhere in between: they still stand before it at `early`.
    while late - early > timedelta(seconds=1):
        middle = early + ((late - early) / 2 // timedelta(seconds=1)) * timedelta(seconds=1)
        if middle.astimezone(zone).replace(tzinfo=None) < wall:
            early = middle
        else:
            late = middle
    return late
