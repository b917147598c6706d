"""What a worker's process counts, until it is added to the counters in the database."""

from __future__ import annotations

import asyncio
import bisect
import functools
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import psycopg

from server.database import BoundedConnection
from server.loop_lag import watch_loop
from server.outbox import (
    ChannelDown,
    Connect,
    Counter,
    Delivery,
    Refused,
    RetryLater,
    Tally,
    add_counts,
    told_of_statements,
)
from server.outbox.channels import Channel

BOUNDS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the buckets that times fall into, in seconds; above them lies '+Inf'."""

BEYOND = "+Inf"
SUM = "sum"

SENDS = "sends"
STATEMENT_S = "statement_s"
SEND_S = "send_s"
LAG_S = "lag_s"
ROUND_TRIPS = "round_trips"

log = logging.getLogger(__name__)


class Meter:
    """Counts and times. Not for several threads."""

    def __init__(self) -> None:
        self._counts: dict[Counter, float] = {}
        self._tallied = Tally()

    def count(self, counter: Counter, by: float = 1.0) -> None:
        """Adds to a counter."""
        self._counts[counter] = self._counts.get(counter, 0.0) + by

    def time(self, name: str, subject: str, seconds: float) -> None:
        """Puts a span into its bucket, and adds it to the sum."""
        self.count(_bucket(name, subject, bisect.bisect_left(BOUNDS_S, seconds)))
        self.count(_counter(name, subject, SUM), seconds)

    def tally(self, done: Tally) -> None:
        """Counts what a worker has done since the last call; `done` holds its sums."""
        for name in Tally.__slots__:
            more = getattr(done, name) - getattr(self._tallied, name)
            if more:
                self.count(Counter(name), more)
                setattr(self._tallied, name, getattr(done, name))

    @contextmanager
    def timing_statements(self) -> Iterator[None]:
        """Times every statement of the outbox in this process meanwhile."""
        with told_of_statements(lambda name, seconds: self.time(STATEMENT_S, name, seconds)):
            yield

    async def watch_loop(self) -> None:
        """Times by how much the event loop comes late, until cancelled."""
        await watch_loop(partial(self.time, LAG_S, "worker"))

    async def save(self, connect: Connect) -> None:
        """Adds what was counted to the database; what cannot be added is kept for the next time.

        A counter may come out too high by what a lost reply made us add again, never too low.
        """
        counts, self._counts = self._counts, {}
        try:
            async with connect() as connection:
                await add_counts(connection, counts)
        except psycopg.OperationalError as error:
            for counter, value in counts.items():
                self.count(counter, value)
            log.warning(
                "could not save the counters: %s", error, extra={"action": "counters-failed"}
            )

    async def keep(self, connect: Connect, done: Tally, *, every_s: float) -> None:
        """Saves again and again, until cancelled; what this process asks of the database too."""
        asked = BoundedConnection.round_trips
        while True:
            await asyncio.sleep(every_s)
            self.tally(done)
            before, asked = asked, BoundedConnection.round_trips
            self.count(Counter(ROUND_TRIPS), asked - before)
            await self.save(connect)


# Each send counts under the same few names, so those are made once.
@functools.cache
def _counter(name: str, subject: str, detail: str) -> Counter:
    return Counter(name, subject, detail)


@functools.cache
def _bucket(name: str, subject: str, place: int) -> Counter:
    return Counter(name, subject, repr(BOUNDS_S[place]) if place < len(BOUNDS_S) else BEYOND)


class MeteredChannel:
    """A channel whose sends are counted by outcome, and timed."""

    def __init__(self, name: str, channel: Channel, meter: Meter) -> None:
        self._name = name
        self._channel = channel
        self._meter = meter
        policy = getattr(channel, "policy", None)
        if policy is not None:
            self.policy = policy

    async def send(self, delivery: Delivery) -> str | None:
        """Sends, and raises whatever the channel raises."""
        began = time.monotonic()
        outcome = "failed"
        try:
            answer = await self._channel.send(delivery)
            outcome = "sent"
        except Refused:
            outcome = "refused"
            raise
        except RetryLater:
            outcome = "retry-later"
            raise
        except ChannelDown:
            outcome = "channel-down"
            raise
        except asyncio.CancelledError:
            outcome = "stopped"
            raise
        finally:
            self._meter.count(_counter(SENDS, self._name, outcome))
            self._meter.time(SEND_S, self._name, time.monotonic() - began)
        return answer
