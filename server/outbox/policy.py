"""The rules of the outbox. Pure: no I/O, no clock, no randomness, all of which are passed in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from .errors import ConfigurationError
from .model import Delivery, Failed, Outcome, Rejected, Sent, Settlement, Status

ERROR_LENGTH = 500
"""Longest `last_error` that is kept, in characters."""


DAY_S = 86_400.0

LONGEST_S = 10 * 366 * DAY_S
"""Longest span that makes sense anywhere, in seconds. PostgreSQL fails at some that are longer."""


@dataclass(frozen=True, slots=True)
class ChannelPolicy:
    """The figures of one channel. A channel object may have them as its attribute `policy`.

    `concurrency` is the most sends to this channel side by side in one worker, within the
    worker's limit in all. After `breaker_failures` failures in a row nothing more is claimed for
    the channel for `breaker_pause_s` seconds. Raises ConfigurationError for a figure that makes
    no sense.
    """

    send_timeout_s: float = 10.0
    concurrency: int = 10
    breaker_failures: int = 5
    breaker_pause_s: float = 30.0

    def __post_init__(self) -> None:
        _require(self, at_least_1=("concurrency", "breaker_failures"))
        _require(self, above_0=("send_timeout_s", "breaker_pause_s"))

    def scaled(self, scale: float) -> ChannelPolicy:
        """The same figures with every span multiplied by `scale`."""
        return replace(
            self,
            send_timeout_s=self.send_timeout_s * scale,
            breaker_pause_s=self.breaker_pause_s * scale,
        )


@dataclass(frozen=True, slots=True)
class Policy:
    """The figures that the outbox works by. Spans are in seconds.

    Raises ConfigurationError when a figure makes no sense, or when a send could outlive its
    lease: a send is started only while the lease still covers its time-out and the margin.

    `breaker_most_s` is the longest that a channel is parked, `retry_after_most_s` the longest
    that a receiver may ask us to wait, `stop_s` how long a worker that was told to stop goes on
    with what it has begun, `statement_s` how long it waits for the database's answer. `exchanges`
    is how many claims of one worker may be under way at once, 1 or 2, each over a connection of
    its own.
    """

    batch: int = 25
    concurrency: int = 10
    max_attempts: int = 5
    backoff_s: tuple[float, ...] = (30.0, 120.0, 480.0, 1920.0)
    backoff_jitter: float = 0.1
    lease_s: float = 300.0
    send_timeout_s: float = 10.0
    send_margin_s: float = 30.0
    poll_s: float = 5.0
    breaker_failures: int = 5
    breaker_pause_s: float = 30.0
    breaker_most_s: float = 1800.0
    retry_after_most_s: float = DAY_S
    stop_s: float = 20.0
    statement_s: float = 20.0
    exchanges: int = 2

    def __post_init__(self) -> None:
        _require(self, at_least_1=("batch", "concurrency", "max_attempts", "breaker_failures"))
        if self.exchanges not in {1, 2}:
            raise ConfigurationError(f"exchanges must be 1 or 2, not {self.exchanges}")
        _require(self, above_0=("lease_s", "send_timeout_s", "send_margin_s", "poll_s"))
        _require(self, above_0=("breaker_pause_s", "breaker_most_s", "retry_after_most_s"))
        _require(self, above_0=("stop_s", "statement_s"))
        if not self.backoff_s or any(not 0 <= pause <= LONGEST_S for pause in self.backoff_s):
            raise ConfigurationError(
                f"backoff_s needs at least one pause, each from 0 to {LONGEST_S:.0f}"
            )
        if not 0 <= self.backoff_jitter <= 1:
            raise ConfigurationError(f"backoff_jitter is a share, not {self.backoff_jitter}")
        self.check("a channel", self.of_channel(None))

    def of_channel(self, channel: object) -> ChannelPolicy:
        """The figures of a channel: its own where it has some, else those of this policy."""
        own = getattr(channel, "policy", None)
        if isinstance(own, ChannelPolicy):
            return own
        return ChannelPolicy(
            send_timeout_s=self.send_timeout_s,
            concurrency=self.concurrency,
            breaker_failures=self.breaker_failures,
            breaker_pause_s=self.breaker_pause_s,
        )

    def check(self, name: str, channel: ChannelPolicy) -> None:
        """Raises ConfigurationError if a send to this channel could outlive its lease."""
        if channel.send_timeout_s + self.send_margin_s >= self.lease_s:
            raise ConfigurationError(
                f"a send to {name} may take {channel.send_timeout_s:g} s and the margin is "
                f"{self.send_margin_s:g} s, but the lease is only {self.lease_s:g} s: a send could "
                "outlive its lease; lengthen the lease or shorten the time-out"
            )

    def scaled(self, scale: float) -> Policy:
        """The same policy with every span multiplied by `scale` (0 < scale <= 1)."""
        if not 0 < scale <= 1:
            raise ConfigurationError(f"the scale of time lies between 0 and 1, not at {scale:g}")
        return replace(
            self,
            backoff_s=tuple(pause * scale for pause in self.backoff_s),
            lease_s=self.lease_s * scale,
            send_timeout_s=self.send_timeout_s * scale,
            send_margin_s=self.send_margin_s * scale,
            poll_s=self.poll_s * scale,
            breaker_pause_s=self.breaker_pause_s * scale,
            breaker_most_s=self.breaker_most_s * scale,
            retry_after_most_s=self.retry_after_most_s * scale,
            stop_s=self.stop_s * scale,
        )


def _require(
    figures: Policy | ChannelPolicy,
    *,
    at_least_1: tuple[str, ...] = (),
    above_0: tuple[str, ...] = (),
) -> None:
    for name in at_least_1:
        if getattr(figures, name) < 1:
            raise ConfigurationError(f"{name} must be at least 1, not {getattr(figures, name)}")
    for name in above_0:
        if not 0 < getattr(figures, name) <= LONGEST_S:
            raise ConfigurationError(
                f"{name} must be more than 0 and at most {LONGEST_S:.0f} (ten years), "
                f"not {getattr(figures, name)}"
            )


def backoff(policy: Policy, attempt: int, chance: float) -> float:
    """Seconds to wait after attempt number `attempt` (from 1) failed.

    `chance` in [0, 1) spreads the pause over the jitter's share; past the last pause it repeats.
    """
    pause = policy.backoff_s[min(attempt, len(policy.backoff_s)) - 1]
    return pause * (1 + policy.backoff_jitter * chance)


def decide(policy: Policy, delivery: Delivery, outcome: Outcome, chance: float) -> Settlement:
    """The settlement that an outcome leads to: sent, failed, pending again, or dead."""
    match outcome:
        case Sent(provider_id):
            return Settlement(
                delivery.id, delivery.attempt, Status.SENT, provider_id=kept(provider_id)
            )
        case Rejected(error, code):
            return Settlement(
                delivery.id, delivery.attempt, Status.FAILED, kept(error), code=kept(code)
            )
        case Failed(error, code, after_s):
            over = delivery.attempt >= delivery.max_attempts
            pause = max(
                backoff(policy, delivery.attempt, chance), min(after_s, policy.retry_after_most_s)
            )
            return Settlement(
                delivery.id,
                delivery.attempt,
                Status.DEAD if over else Status.PENDING,
                kept(error),
                0.0 if over else pause,
                code=kept(code),
            )


def kept(text: str | None) -> str | None:
    """What of a text from outside is kept: as much as fits, without what PostgreSQL refuses."""
    if text is None:
        return None
    return text[:ERROR_LENGTH].replace("\0", "").encode(errors="replace").decode()


def covered(policy: Policy, *, timeout_s: float, now: float, lease_ends: float) -> bool:
    """Whether a send that starts at `now` and may take `timeout_s` ends before the lease does."""
    return now + timeout_s + policy.send_margin_s < lease_ends


def affordable(policy: Policy, channels: Iterable[ChannelPolicy], *, left_s: float) -> int:
    """How many sends are sure to end within `left_s`, whichever of these channels they go to.

    Every send may take the longest time-out, and the tightest limit decides how many run side by
    side: so many rounds as fit in, each of so many sends.
    """
    figures = list(channels)
    rounds = int(left_s / max((one.send_timeout_s for one in figures), default=1.0))
    return rounds * min([policy.concurrency, *(one.concurrency for one in figures)])


def wants_more(policy: Policy, *, running: int, waiting: int, ahead: int, asked: int) -> bool:
    """Whether a worker is to claim again, with so many sends running and so many not yet started.

    When half of its places are free; and before that, if what it has aboard will have been sent
    by the time the database has answered (`ahead`, see `next_ahead`). While claims are under way,
    `asked` of them, another one has to find sends that keep up with them: as many as a claim
    brings end while the database answers one.
    """
    keeps_up = not waiting and running <= ahead
    if asked:
        return asked < policy.exchanges and keeps_up and ahead >= policy.batch
    return running <= policy.concurrency // 2 or keeps_up


def next_ahead(policy: Policy, ahead: int, *, aboard: int, landed: int) -> int:
    """How many deliveries may still be aboard when a worker claims again.

    As many as `landed` while the database answered; and more each time, up to a batch, if those
    were all that was `aboard`. So a worker whose sends are slow holds back nothing from others,
    and one whose sends are quick need not wait for the database.
    """
    if landed < aboard:
        return min(landed, policy.batch)
    return min(policy.batch, max(1, 2 * aboard, 2 * ahead))


def renewal_due(policy: Policy, *, now: float, lease_ends: float) -> bool:
    """Whether a lease is to be extended: when a third of it is over."""
    return lease_ends - now < policy.lease_s * 2 / 3


def growing_pause(failures: int, *, first_s: float, most_s: float) -> float:
    """The pause before trying again after so many failures in a row: doubling, with a ceiling."""
    return min(first_s * 2.0 ** min(failures - 1, 30), most_s)
