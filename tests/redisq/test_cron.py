"""Cron lines: what they say, and when that is where clocks change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.redisq.cron import Cron, parsed

BERLIN = "Europe/Berlin"


def following(line: str, after: str, count: int, zone: str = "UTC") -> list[str]:
    """The next times after that one, by the clocks of the zone."""
    place = ZoneInfo(zone)
    at = datetime.fromisoformat(after).replace(tzinfo=place)
    found = []
    for _ in range(count):
        at = parsed(line).next(at, place)
        assert at.tzinfo is UTC
        found.append(at.astimezone(place).strftime("%Y-%m-%d %H:%M %Z"))
    return found


@pytest.mark.parametrize(
    ("line", "after", "expected"),
    [
        ("* * * * *", "2026-01-01 00:00", ["2026-01-01 00:01", "2026-01-01 00:02"]),
        ("*/20 8-10/2 * * *", "2026-01-01 08:30", ["2026-01-01 08:40", "2026-01-01 10:00"]),
        ("5/20 0 * * *", "2026-01-01 00:05", ["2026-01-01 00:25", "2026-01-01 00:45"]),
        ("0 9 * * MON-fri", "2026-01-02 12:00", ["2026-01-05 09:00", "2026-01-06 09:00"]),
        ("0 0 * * 7", "2026-01-01 00:00", ["2026-01-04 00:00", "2026-01-11 00:00"]),
        ("0 0 * * 0,sat", "2026-01-01 00:00", ["2026-01-03 00:00", "2026-01-04 00:00"]),
        ("0 0 1 jan,7 *", "2026-01-01 00:00", ["2026-07-01 00:00", "2027-01-01 00:00"]),
        ("59 23 31 * *", "2026-01-31 23:59", ["2026-03-31 23:59", "2026-05-31 23:59"]),
        ("0 0 29 feb *", "2096-02-29 00:00", ["2104-02-29 00:00", "2108-02-29 00:00"]),
        # Either kind of day, if both are said.
        ("0 0 13 * fri", "2026-01-08 00:00", ["2026-01-09 00:00", "2026-01-13 00:00"]),
        # A star in one of them leaves the day to the other.
        ("0 0 */2 * fri", "2026-01-01 00:00", ["2026-01-09 00:00", "2026-01-23 00:00"]),
    ],
)
def test_what_a_line_says(line: str, after: str, expected: list[str]) -> None:
    """Names, ranges, steps, lists; days of the month and of the week."""
    assert following(line, after, 2) == [f"{at} UTC" for at in expected]


@pytest.mark.parametrize(
    ("line", "after", "expected"),
    [
        # 02:00 to 03:00 is skipped: what falls into it comes once, when it ends.
        ("30 2 * * *", "2026-03-28 12:00", ["2026-03-29 03:00 CEST", "2026-03-30 02:30 CEST"]),
        ("*/20 2 * * *", "2026-03-28 12:00", ["2026-03-29 03:00 CEST", "2026-03-30 02:00 CEST"]),
        ("0 2,3 * * *", "2026-03-28 12:00", ["2026-03-29 03:00 CEST", "2026-03-30 02:00 CEST"]),
        # 02:00 to 03:00 comes twice: it counts the first time.
        ("30 2 * * *", "2026-10-24 12:00", ["2026-10-25 02:30 CEST", "2026-10-26 02:30 CET"]),
        ("*/30 * * * *", "2026-10-25 02:00", ["2026-10-25 02:30 CEST", "2026-10-25 03:00 CET"]),
    ],
)
def test_where_the_clocks_change(line: str, after: str, expected: list[str]) -> None:
    """Nothing is left out, and nothing comes twice."""
    assert following(line, after, 2, BERLIN) == expected


def test_half_an_hour_that_is_skipped_is_one_too() -> None:
    """Not every place changes by a whole hour, nor at a whole one."""
    zone = "Australia/Lord_Howe"
    assert following("15 2 * * *", "2026-10-03 12:00", 2, zone) == [
        "2026-10-04 02:30 +11",
        "2026-10-05 02:15 +11",
    ]


@given(
    line=st.sampled_from(["*/7 * * * *", "30 2 * * *", "0 0-23/5 * * *", "15 1,2,3 * * sun"]),
    zone=st.sampled_from([BERLIN, "America/St_Johns", "Australia/Lord_Howe", "Asia/Kathmandu"]),
    at=st.datetimes(datetime(2025, 1, 1), datetime(2027, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
)
def test_the_next_time_is_the_first_that_fits(line: str, zone: str, at: datetime) -> None:
    """It is later, the clocks show it or have just skipped it, and nothing fits in between."""
    place, cron = ZoneInfo(zone), parsed(line)
    found = cron.next(at, place)
    assert found > at
    shown, before = (when.astimezone(place) for when in (found, found - timedelta(minutes=1)))
    assert fits(cron, shown) or shown.utcoffset() > before.utcoffset()  # type: ignore[operator]
    step = timedelta(minutes=1)
    minute = at.replace(second=0, microsecond=0) + step
    for _ in range(200):
        if minute >= found:
            break
        # The second pass of an hour that comes twice does not count.
        assert not fits(cron, minute.astimezone(place)) or minute.astimezone(place).fold
        minute += step


def fits(cron: Cron, wall: datetime) -> bool:
    """Whether the line means what the clocks show."""
    day = wall.day in cron.days, wall.isoweekday() % 7 in cron.weekdays
    return (
        wall.minute in cron.minutes
        and wall.hour in cron.hours
        and wall.month in cron.months
        and (any(day) if cron.either else all(day))
    )


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("* * * *", "five fields"),
        ("60 * * * *", "minute"),
        ("* 24 * * *", "hour"),
        ("* * 0 * *", "day of the month"),
        ("* * * 13 *", "month"),
        ("* * * * 8", "day of the week"),
        ("* * * * mo", "day of the week"),
        ("*/0 * * * *", "minute"),
        ("*/x * * * *", "minute"),
        ("5-1 * * * *", "minute"),
        ("1,,2 * * * *", "minute"),
        ("-1 * * * *", "minute"),
        ("\u0663 * * * *", "minute"),
        ("* * 30 feb *", "no such day"),
        ("* * 31 4,6 *", "no such day"),
    ],
)
def test_what_makes_no_sense_is_refused(line: str, fault: str) -> None:
    """With the field that is wrong."""
    with pytest.raises(ValueError, match=fault):
        parsed(line)
