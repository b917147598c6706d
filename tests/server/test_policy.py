"""The rules: which state an outcome leads to, how long a pause is, what is refused at start."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.outbox import ChannelPolicy, ConfigurationError, Policy
from server.outbox.model import Delivery, Failed, Rejected, Sent, Status
from server.outbox.policy import (
    affordable,
    backoff,
    covered,
    decide,
    growing_pause,
    renewal_due,
)

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


def delivery(attempt: int = 1, max_attempts: int = 5) -> Delivery:
    """A delivery that is held under this attempt."""
    return Delivery(7, "page", "p", {}, attempt, max_attempts, None, NOON, NOON, NOON)


@pytest.mark.parametrize(
    ("attempt", "pause"), [(1, 30), (2, 120), (3, 480), (4, 1920), (5, 1920), (99, 1920)]
)
def test_pauses_grow_fourfold_and_then_stay(attempt, pause):
    """30 s, 2 min, 8 min, 32 min."""
    assert backoff(Policy(), attempt, chance=0.0) == pause


@given(st.integers(1, 50), st.floats(0, 1, exclude_max=True))
def test_jitter_lengthens_by_at_most_its_share(attempt, chance):
    """Up to ten per cent, never shorter."""
    plain = backoff(Policy(), attempt, 0.0)
    assert plain <= backoff(Policy(), attempt, chance) <= plain * 1.1


@given(
    st.integers(1, 9),
    st.integers(1, 9),
    st.sampled_from([Sent(), Rejected("no"), Failed("busy")]),
    st.floats(0, 1, exclude_max=True),
)
def test_every_outcome_has_one_next_state(attempt, most, outcome, chance):
    """A retry only while attempts are left; the fence goes along; an error is kept."""
    next_one = decide(Policy(), delivery(attempt, most), outcome, chance)
    assert (next_one.id, next_one.attempt) == (7, attempt)
    match outcome:
        case Sent():
            assert (next_one.status, next_one.error) == (Status.SENT, None)
        case Rejected():
            assert (next_one.status, next_one.error) == (Status.FAILED, "no")
        case Failed():
            expected = Status.PENDING if attempt < most else Status.DEAD
            assert (next_one.status, next_one.error) == (expected, "busy")
    assert (next_one.delay_s > 0) == (next_one.status is Status.PENDING)


def test_an_endless_error_is_cut():
    """What a receiver answers is not kept without a limit."""
    assert len(decide(Policy(), delivery(), Failed("x" * 10_000), 0.0).error or "") == 500


def test_a_send_that_could_outlive_its_lease_is_refused():
    """At start, not when it happens."""
    with pytest.raises(ConfigurationError, match="could outlive its lease"):
        Policy(lease_s=40, send_timeout_s=10, send_margin_s=30)
    Policy(lease_s=40.1, send_timeout_s=10, send_margin_s=30)


@pytest.mark.parametrize(
    "wrong",
    [
        {"batch": 0},
        {"concurrency": 0},
        {"max_attempts": 0},
        {"poll_s": 0},
        {"lease_s": float("nan")},
        {"backoff_s": ()},
        {"backoff_s": (30.0, -1.0)},
        {"backoff_s": (float("nan"),)},
        {"backoff_jitter": 1.5},
    ],
    ids=str,
)
def test_figures_without_sense_are_refused(wrong):
    """Each with a sentence."""
    with pytest.raises(ConfigurationError, match=next(iter(wrong))):
        Policy(**wrong)


def test_the_scale_shortens_every_span_and_nothing_else():
    """So that a demonstration keeps the proportions."""
    scaled = Policy().scaled(0.1)
    assert scaled.backoff_s == (3, 12, 48, 192)
    assert (scaled.lease_s, scaled.send_timeout_s, scaled.send_margin_s, scaled.poll_s) == (
        30,
        1,
        3,
        0.5,
    )
    assert (scaled.batch, scaled.max_attempts, scaled.backoff_jitter) == (25, 5, 0.1)
    for scale in (0, -1, 1.1):
        with pytest.raises(ConfigurationError, match="scale"):
            Policy().scaled(scale)


def test_a_lease_covers_time_out_and_margin():
    """And not a moment less."""
    assert covered(Policy(), timeout_s=10, now=100, lease_ends=140.1)
    assert not covered(Policy(), timeout_s=10, now=100, lease_ends=140)


def test_pauses_after_failures_double_up_to_a_ceiling():
    """However many there were."""
    assert [growing_pause(n, first_s=1, most_s=5) for n in (1, 2, 3, 4, 10_000)] == [1, 2, 4, 5, 5]


def test_a_lease_is_renewed_when_a_third_of_it_is_over():
    """Well before its end, and not at every look."""
    policy = Policy(lease_s=300)
    assert not renewal_due(policy, now=99, lease_ends=300)
    assert renewal_due(policy, now=101, lease_ends=300)


@pytest.mark.parametrize(
    ("left_s", "channels", "sends"),
    [
        (9.9, [ChannelPolicy()], 0),
        (10, [ChannelPolicy()], 10),
        (25, [ChannelPolicy()], 20),
        (25, [ChannelPolicy(), ChannelPolicy(send_timeout_s=20)], 10),
        (25, [ChannelPolicy(), ChannelPolicy(concurrency=3)], 6),
        (25, [ChannelPolicy(concurrency=99)], 20),
    ],
)
def test_only_so_many_sends_are_begun_as_end_in_time(left_s, channels, sends):
    """The slowest channel and the tightest limit decide."""
    assert affordable(Policy(concurrency=10), channels, left_s=left_s) == sends


def test_a_channel_has_its_own_figures_or_those_of_the_policy():
    """An attribute of the channel, and nothing else, says so."""
    policy = Policy(send_timeout_s=7, concurrency=3, breaker_failures=2, breaker_pause_s=9)

    class Own:
        policy = ChannelPolicy(send_timeout_s=1)

    assert policy.of_channel(Own()) == ChannelPolicy(send_timeout_s=1)
    assert policy.of_channel(object()) == ChannelPolicy(7, 3, 2, 9)


@pytest.mark.parametrize(
    "wrong",
    [
        {"send_timeout_s": 0},
        {"concurrency": 0},
        {"breaker_failures": 0},
        {"breaker_pause_s": float("nan")},
    ],
    ids=str,
)
def test_figures_of_a_channel_without_sense_are_refused(wrong):
    """Each by its name."""
    with pytest.raises(ConfigurationError, match=next(iter(wrong))):
        ChannelPolicy(**wrong)


@pytest.mark.parametrize("after_s", [float("nan"), float("-inf"), -5.0])
def test_a_pause_without_sense_is_our_own_pause(after_s):
    """Whatever a receiver asks for."""
    assert decide(Policy(), delivery(), Failed("x", "retry-later", after_s), 0.0).delay_s == 30
