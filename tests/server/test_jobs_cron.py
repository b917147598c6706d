"""What a cron line means on clocks that are changed, held against a look at every minute."""

import os
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.jobs.cron import Cron
from server.jobs.errors import InvalidTriggerError

MINUTE = timedelta(minutes=1)
FULL = os.environ.get("WORKERS_TEST_FULL") == "1"


def _shown(line: str, zone: str, after: str, count: int) -> list[str]:
    """The next instants, as the clock of the zone shows them."""
    found = islice(Cron(line, zone).after(datetime.fromisoformat(after)), count)
    return [one.astimezone(ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M%z") for one in found]


VIENNA = [
    # The clock goes from 02:00 to 03:00 on 29 March 2026.
    ("30 2 * * *", "2026-03-28T12:00Z", ["03-29 03:00+0200", "03-30 02:30+0200"]),
    ("0,30 2 * * *", "2026-03-28T12:00Z", ["03-29 03:00+0200", "03-30 02:00+0200"]),
    ("30 2,3 * * *", "2026-03-28T12:00Z", ["03-29 03:00+0200", "03-29 03:30+0200"]),
    ("0 2,3 * * *", "2026-03-28T12:00Z", ["03-29 03:00+0200", "03-30 02:00+0200"]),
    ("30 2 * * *", "2026-03-29T01:00Z", ["03-30 02:30+0200"]),
    ("0 */2 * * *", "2026-03-28T23:30Z", ["03-29 04:00+0200", "03-29 06:00+0200"]),
    ("*/30 * * * *", "2026-03-29T00:30Z", ["03-29 03:00+0200", "03-29 03:30+0200"]),
    ("30 2 29 3 *", "2026-01-01T00:00Z", ["03-29 03:00+0200"]),
    # It goes from 03:00 back to 02:00 on 25 October 2026.
    ("30 2 * * *", "2026-10-24T12:00Z", ["10-25 02:30+0200", "10-26 02:30+0100"]),
    ("30 2 * * *", "2026-10-25T01:10Z", ["10-26 02:30+0100"]),
    ("*/30 2 * * *", "2026-10-24T12:00Z",
     ["10-25 02:00+0200", "10-25 02:30+0200", "10-25 02:00+0100", "10-25 02:30+0100"]),
    ("0 * * * *", "2026-10-24T23:30Z",
     ["10-25 02:00+0200", "10-25 02:00+0100", "10-25 03:00+0100"]),
]  # fmt: skip


@pytest.mark.parametrize(("line", "after", "expected"), VIENNA)
def test_both_clock_changes_of_vienna(line, after, expected):
    """A skipped time comes once, right after the gap; a repeated one at its first pass."""
    shown = _shown(line, "Europe/Vienna", after, len(expected))
    assert shown == [f"2026-{one}" for one in expected]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("0 0 29 2 *", ["2028-02-29", "2032-02-29", "2036-02-29"]),
        ("0 0 31 * *", ["2026-12-31", "2027-01-31", "2027-03-31"]),
        ("0 0 L * *", ["2026-12-31", "2027-01-31", "2027-02-28"]),
        ("0 0 L 2 *", ["2027-02-28", "2028-02-29", "2029-02-28"]),
        ("0 0 * * MON#1", ["2026-12-07", "2027-01-04", "2027-02-01"]),
        # Both a day of the month and a weekday: either will do.
        ("0 0 13 * 5", ["2026-12-04", "2026-12-11", "2026-12-13"]),
    ],
)
def test_leap_days_and_the_ends_of_months(line, expected):
    """As the calendar has them."""
    shown = _shown(line, "UTC", "2026-12-01T00:00Z", 3)
    assert [one[:10] for one in shown] == expected


@pytest.mark.parametrize(
    ("line", "zone"),
    [
        ("* * * *", "UTC"),
        ("* * * * * *", "UTC"),
        ("60 * * * *", "UTC"),
        ("0 0 31 2 *", "UTC"),
        ("@daily", "UTC"),
        ("* * * * *", "Europe/Wien"),
        ("* * * * *", "../../etc/passwd"),
        ("* * * * *", ""),
    ],
)
def test_what_can_never_come_is_refused(line, zone):
    """When the trigger is made, not when it would be due."""
    with pytest.raises(InvalidTriggerError):
        Cron(line, zone)


# The model below knows no library: it walks through every minute and looks at the clock.


def _field(text: str, low: int, high: int) -> set[int]:
    found: set[int] = set()
    for part in text.split(","):
        span, _, step = part.partition("/")
        first, _, last = (f"{low}-{high}" if span == "*" else span).partition("-")
        found |= set(range(int(first), int(last or first) + 1, int(step or 1)))
    return found


def _every_minute(line: str, zone: str, after: datetime, until: datetime) -> list[datetime]:
    place = ZoneInfo(zone)
    minutes, hours, days = (
        _field(text, low, high)
        for text, low, high in zip(line.split()[:3], (0, 0, 1), (59, 23, 31), strict=True)
    )
    named = not any(text.startswith("*") for text in line.split()[:2])

    def fits(clock: datetime) -> bool:
        return clock.minute in minutes and clock.hour in hours and clock.day in days

    found = []
    instant = after
    seen = instant.astimezone(place).replace(tzinfo=None)
    while (instant := instant + MINUTE) <= until:
        clock = instant.astimezone(place)
        wall = clock.replace(tzinfo=None, fold=0)
        come = fits(wall)
        if named:
            come = come and clock.fold == 0
            skipped = seen + MINUTE
            while skipped < wall:
                come = come or fits(skipped)
                skipped += MINUTE
        if come:
            found.append(instant)
        seen = wall
    return found


CHANGES = [
    ("Europe/Vienna", "2026-03-29T01:00Z"),
    ("Europe/Vienna", "2026-10-25T01:00Z"),
    ("America/New_York", "2026-03-08T07:00Z"),
    ("Australia/Lord_Howe", "2026-04-04T15:00Z"),  # by half an hour
    ("Australia/Lord_Howe", "2026-10-03T15:30Z"),
    ("Africa/Cairo", "2026-04-23T22:00Z"),  # at midnight
    ("Africa/Cairo", "2026-10-29T21:00Z"),
    ("Pacific/Apia", "2011-12-30T10:00Z"),  # a day that never was
    ("UTC", "2028-02-29T00:00Z"),
]
PARTS = {
    "minute": ["*", "*/20", "0", "30", "0,30", "59", "10-50/20"],
    "hour": ["*", "*/2", "0", "1", "2", "3", "1,2", "2-3", "23"],
    "day": ["*", "1", "29", "30", "31", "25,30"],
}


@settings(deadline=None, max_examples=1500 if FULL else 40)
@given(
    change=st.sampled_from(CHANGES),
    parts=st.tuples(*map(st.sampled_from, PARTS.values())),
    begin=st.integers(-26 * 60, 90),
)
def test_it_is_what_a_look_at_every_minute_finds(change, parts, begin):
    """Around every kind of change that a clock has known, from before it, in it and after it."""
    zone, at = change
    line = f"{' '.join(parts)} * *"
    after = datetime.fromisoformat(at) + begin * MINUTE
    until = datetime.fromisoformat(at) + timedelta(hours=10)
    expected = _every_minute(line, zone, after, until)
    found = []
    for one in Cron(line, zone).after(after):
        if one > until:
            break
        found.append(one)
    assert found == expected


def test_instants_come_in_utc_and_only_forwards():
    """Whatever zone the question was asked in, and with fractions of seconds."""
    asked = datetime(2026, 10, 25, 2, 59, 59, 999_999, tzinfo=ZoneInfo("Europe/Vienna"))
    found = list(islice(Cron("* * * * *", "Europe/Vienna").after(asked), 90))
    assert found[0] == datetime(2026, 10, 25, 1, 0, tzinfo=UTC)
    assert {b - a for a, b in pairwise(found)} == {MINUTE}
    assert all(one.tzinfo is UTC for one in found)
