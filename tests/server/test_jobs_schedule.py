"""When jobs are due, and what becomes of ticks that nobody was there for: rules without I/O."""

import itertools
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.jobs.cron import Cron
from server.jobs.errors import InvalidTriggerError
from server.jobs.schedule import (
    EPOCH,
    ONCE,
    SKIP,
    CatchUp,
    Decision,
    Every,
    decide,
    next_due,
    ticks_after,
)

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
HOURLY = (Cron("0 * * * *"),)


def _hours(*numbers: int) -> list[datetime]:
    return [NOON + timedelta(hours=number) for number in numbers]


def _decide(rule: CatchUp, *, down_h: int, late_s: float) -> Decision:
    now = NOON + timedelta(seconds=late_s)
    return decide(HOURLY, rule, decided_until=NOON - timedelta(hours=down_h), now=now)


@pytest.mark.parametrize(
    ("rule", "late_s", "expected"),
    [
        # Down over three ticks, and back an hour and a half after the last of them.
        (SKIP, 1800, Decision((), NOON)),
        (ONCE, 1800, Decision(_hours(0), NOON - timedelta(hours=1))),
        (CatchUp(2), 1800, Decision(_hours(-1, 0), NOON - timedelta(hours=2))),
        (CatchUp(3), 1800, Decision(_hours(-2, -1, 0))),
        (CatchUp(9), 1800, Decision(_hours(-2, -1, 0))),
        # Back a few seconds after a tick: that one is only late.
        (SKIP, 5, Decision(_hours(0), NOON - timedelta(hours=1))),
        (ONCE, 5, Decision(_hours(0), NOON - timedelta(hours=1))),
        (SKIP, 61, Decision((), NOON)),
    ],
)
def test_what_was_missed_is_skipped_run_once_or_each(rule, late_s, expected):
    """The latest ones, in order; and what is passed over is said."""
    decision = _decide(rule, down_h=3, late_s=late_s)
    assert list(decision.ticks) == list(expected.ticks)
    assert decision.passed_over == expected.passed_over


def test_nothing_is_due_between_ticks():
    """A tick that was dealt with does not come again, and the next is not early."""
    assert _decide(ONCE, down_h=0, late_s=3599) == Decision()
    assert [list(_decide(ONCE, down_h=0, late_s=3600).ticks)] == [_hours(1)]
    assert decide((), ONCE, decided_until=EPOCH, now=NOON) == Decision()


def test_a_rare_tick_is_found_after_years():
    """29 February was missed; the server comes back two years later."""
    leap = (Cron("0 0 29 2 *", "Europe/Vienna"),)
    begin = datetime(2028, 1, 1, tzinfo=UTC)
    decision = decide(leap, ONCE, decided_until=begin, now=begin.replace(year=2030))
    assert list(decision.ticks) == [datetime(2028, 2, 28, 23, tzinfo=UTC)]


def test_a_server_that_was_down_over_a_clock_change():
    """The skipped tick of Vienna's 29 March 2026 is one tick, as is the repeated one in October."""
    nightly = (Cron("30 2 * * *", "Europe/Vienna"),)
    for begin, tick in (
        (datetime(2026, 3, 28, 12, tzinfo=UTC), datetime(2026, 3, 29, 1, tzinfo=UTC)),
        (datetime(2026, 10, 24, 12, tzinfo=UTC), datetime(2026, 10, 25, 0, 30, tzinfo=UTC)),
    ):
        back = begin + timedelta(days=1)
        assert decide(nightly, CatchUp(9), decided_until=begin, now=back) == Decision([tick])


def test_years_of_seconds_are_decided_at_once():
    """What is looked at depends on the rule, not on how long nobody was there."""
    decision = decide((Every(1),), CatchUp(3), decided_until=EPOCH, now=NOON)
    assert list(decision.ticks) == [NOON - timedelta(seconds=n) for n in (2, 1, 0)]
    assert decision.passed_over == NOON - timedelta(seconds=3)


def test_intervals_are_the_same_on_every_server():
    """Counted from the epoch, whenever one starts to look."""
    every = Every(7.5)
    for shift_s in (0.0, 0.001, 3.3, 7.499):
        first, second = itertools.islice(every.after(NOON + timedelta(seconds=shift_s)), 2)
        assert (first, second - first) == (NOON + timedelta(seconds=7.5), timedelta(seconds=7.5))
    for wrong in (0, -1, 0.5, float("nan")):
        with pytest.raises(InvalidTriggerError):
            Every(wrong)


def test_triggers_that_coincide_are_one_tick():
    """A job with several triggers is woken in the order of time."""
    both = (Cron("0 * * * *"), Every(1800), Cron("0 */2 * * *"))
    found = list(itertools.islice(ticks_after(both, NOON), 4))
    assert found == [NOON + timedelta(minutes=30 * n) for n in (1, 2, 3, 4)]
    assert next_due((), NOON) is None


@settings(deadline=None, max_examples=50)
@given(
    most=st.integers(0, 5),
    grace_s=st.floats(0, 7200),
    down_min=st.integers(0, 900),
    late_s=st.integers(0, 7200),
)
def test_every_tick_is_run_or_passed_over_and_none_twice(most, grace_s, down_min, late_s):
    """Whatever the rule: what is decided lies after what was, in order, up to the last tick."""
    triggers = (Every(1200), Cron("*/25 * * * *"))
    now = NOON + timedelta(seconds=late_s)
    until = now - timedelta(minutes=down_min)
    due = list(itertools.takewhile(lambda one: one <= now, ticks_after(triggers, until)))
    decision = decide(triggers, CatchUp(most, grace_s), decided_until=until, now=now)
    ticks = list(decision.ticks)
    assert ticks == due[len(due) - len(ticks) :]
    assert len(ticks) <= max(1, most)
    passed = due[: len(due) - len(ticks)]
    assert decision.passed_over == (passed[-1] if passed else None)
