"""What workers count adds up in the database, and nothing is lost while that is away."""

import asyncio

import psycopg
import pytest

from server.meter import BEYOND, SEND_S, SENDS, SUM, Meter, MeteredChannel
from server.outbox import ChannelDown, Counter, Refused, RetryLater, Tally, read_counts


class Answers:
    """A channel that does what the test says."""

    policy = "its own"

    def __init__(self, error: BaseException | None) -> None:
        self._error = error

    async def send(self, _delivery) -> str:
        """Raises or returns."""
        if self._error:
            raise self._error
        return "named"


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (None, "sent"),
        (Refused("no"), "refused"),
        (RetryLater("later", after_s=1), "retry-later"),
        (ChannelDown("down"), "channel-down"),
        (OSError("broken"), "failed"),
        (asyncio.CancelledError(), "stopped"),
    ],
    ids=["sent", "refused", "later", "down", "failed", "stopped"],
)
async def test_sends_are_counted_by_outcome_and_pass_through(connect, error, outcome):
    """What the channel raises and returns reaches the worker unchanged."""
    meter = Meter()
    channel = MeteredChannel("page", Answers(error), meter)
    assert channel.policy == "its own"
    if error is None:
        assert await channel.send(None) == "named"
    else:
        with pytest.raises(type(error)) as caught:
            await channel.send(None)
        assert caught.value is error
    await meter.save(connect)
    async with connect() as connection:
        counts = await read_counts(connection)
    assert counts[Counter(SENDS, "page", outcome)] == 1
    assert counts[Counter(SEND_S, "page", SUM)] >= 0


async def test_counts_of_several_add_up(connect):
    """At the same time, too."""
    meters = [Meter() for _ in range(6)]
    for meter in meters:
        meter.tally(Tally(claimed=3, refused=1))
        meter.tally(Tally(claimed=5, refused=1))
        meter.time(SEND_S, "page", 0.004)
        meter.time(SEND_S, "page", 60)
    await asyncio.gather(*(meter.save(connect) for meter in meters))
    await meters[0].save(connect)
    async with connect() as connection:
        counts = await read_counts(connection)
    assert (counts[Counter("claimed")], counts[Counter("refused")]) == (30, 6)
    assert counts[Counter(SEND_S, "page", "0.005")] == counts[Counter(SEND_S, "page", BEYOND)] == 6


async def test_what_cannot_be_saved_is_kept(connect):
    """And saved the next time, with what came in between."""
    meter = Meter()

    def away():
        raise psycopg.OperationalError("away")

    meter.count(Counter("claimed"), 2)
    await meter.save(away)
    meter.count(Counter("claimed"), 3)
    await meter.save(connect)
    async with connect() as connection:
        assert (await read_counts(connection))[Counter("claimed")] == 5
