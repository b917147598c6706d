"""A channel that fails too often in a row is left alone for a while, and then tried once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.outbox.breaker import Breaker, Standing
from server.outbox.model import Failed, Outcome, Rejected, Sent
from server.outbox.policy import ChannelPolicy

CHANNEL = ChannelPolicy(breaker_failures=3, breaker_pause_s=10)
DOWN = Failed("no route", "channel-down")


def after(breaker: Breaker, outcome: Outcome, now: float) -> Breaker:
    """The breaker after an outcome, with a ceiling of 35 s."""
    return breaker.after(outcome, CHANNEL, most_s=35, now=now)


def parked(times: int = 1) -> Breaker:
    """A breaker whose channel has just been parked so often in a row."""
    breaker, now = Breaker(), 0.0
    for _ in range(CHANNEL.breaker_failures - 1 + times):
        now = now if breaker.until is None else breaker.until
        breaker = after(breaker, DOWN, now)
    return breaker


@pytest.mark.parametrize("code", ["error", "timeout", "channel-down"])
def test_failures_in_a_row_park_the_channel(code):
    """Not one fewer, whatever kind they are of."""
    breaker = Breaker()
    for now in (0.0, 1.0):
        breaker = after(breaker, Failed("x", code), now)
        assert breaker.standing(now) is Standing.OPEN
    breaker = after(breaker, Failed("x", code), 2.0)
    assert breaker.standing(11.9) is Standing.PARKED
    assert breaker.standing(12.0) is Standing.PROBING


@pytest.mark.parametrize("outcome", [Sent(), Rejected("no such user")], ids=["sent", "refused"])
def test_an_answer_in_between_starts_the_count_anew(outcome):
    """A refusal too: whoever refuses is there."""
    breaker = after(after(Breaker(), DOWN, 0), DOWN, 1)
    assert after(breaker, outcome, 2) == Breaker()


@pytest.mark.parametrize("code", ["retry-later", "stopped"])
def test_what_says_nothing_against_the_channel_is_not_counted(code):
    """Neither a receiver that asks for a pause nor our own end."""
    breaker = after(after(Breaker(), DOWN, 0), DOWN, 1)
    assert after(breaker, Failed("x", code), 2) == breaker


def test_a_probe_that_fails_doubles_the_pause_up_to_the_ceiling():
    """10, 20, then 35 s."""
    pauses, breaker = [], parked()
    now = 0.0
    for _ in range(4):
        assert breaker.until is not None
        pauses.append(breaker.until - now)
        now = breaker.until
        breaker = after(breaker, DOWN, now)
    assert pauses == [10, 20, 35, 35]


@pytest.mark.parametrize(
    "outcome", [Sent(), Rejected("no"), Failed("busy", "retry-later")], ids=["sent", "no", "busy"]
)
def test_a_probe_that_is_answered_opens_the_channel(outcome):
    """And the next pause is the first one again."""
    breaker = parked(2)
    assert breaker.until is not None
    assert after(breaker, outcome, breaker.until) == Breaker()


def test_a_straggler_that_fails_changes_nothing():
    """It had begun before the channel was parked."""
    breaker = parked()
    assert after(breaker, DOWN, 5.0) == breaker


def test_a_straggler_that_arrives_opens_it():
    """The channel works, as it has just shown."""
    assert after(parked(), Sent(), 5.0) == Breaker()


@given(st.lists(st.sampled_from([Sent(), DOWN, Failed("x"), Failed("x", "retry-later")])))
def test_a_channel_is_never_parked_for_ever(outcomes):
    """However it went, the pause is bounded, and a probe follows."""
    breaker = Breaker()
    for now, outcome in enumerate(outcomes):
        breaker = after(breaker, outcome, float(now))
        if breaker.until is not None:
            assert breaker.until <= now + 35
            assert breaker.standing(now + 35) is Standing.PROBING
