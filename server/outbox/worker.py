"""The long-lived worker: reaps, takes turns while there is work, and sleeps until there is more."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Callable

from . import presence, queue
from .connect import AWAY
from .housekeeping import housekeeping
from .model import Tally
from .policy import growing_pause
from .retention import Retention
from .turn import Turn

log = logging.getLogger(__name__)

SHORTEST_SLEEP_S = 0.02


class Worker:
    """Works until told to stop. Any number of them can run beside each other.

    `wake` may be set from outside (by a notification) to end its sleep early; a notification
    that gets lost costs one poll interval.
    """

    def __init__(
        self,
        turn: Turn,
        *,
        wake: asyncio.Event,
        retention: Retention | None = None,
        chance: Callable[[], float] = random.random,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._turn = turn
        self._wake = wake
        self._retention = retention
        self._chance = chance
        self._clock = clock
        self._beat_at: float | None = None
        self._housekeeping: asyncio.Task[None] | None = None
        self.done = Tally()

    async def run(self, stop: asyncio.Event) -> Tally:
        """Works until `stop` is set, then finishes what has been started; returns the sums.

        A database that is away is waited for, with growing pauses.
        """
        log.info("worker %s starts", self._turn.holder, extra={"action": "start"})
        failures = 0
        while not stop.is_set():
            self._wake.clear()
            try:
                pause = await self._step(stop)
                failures = 0
            except AWAY as error:
                failures += 1
                pause = growing_pause(failures, first_s=0.2, most_s=10.0)
                log.warning("the database is away: %s", error, extra={"action": "database-away"})
            if pause:
                await self._sleep(pause, stop)
        await self._end_housekeeping()
        holder = self._turn.holder
        try:
            await self._turn.ask(lambda connection: presence.depart(connection, holder=holder))
        except AWAY as error:
            log.warning("could not sign off: %s", error, extra={"action": "database-away"})
        log.info("worker %s ends", holder, extra={"action": "stop"})
        return self.done

    async def _step(self, stop: asyncio.Event) -> float:
        """One turn with the housekeeping before it; returns for how long to sleep, in seconds."""
        poll_s = self._turn.policy.poll_s
        now = self._clock()
        if self._beat_at is None or now - self._beat_at >= poll_s:
            holder = self._turn.holder
            await self._turn.ask(
                lambda connection: presence.beat(connection, holder=holder, beat_s=poll_s)
            )
            self._beat_at = now
            await self._start_housekeeping()
        self.done.reaped += await reap(self._turn)
        tally = await self._turn.take(stop)
        self.done.add(tally)
        if tally.claimed:
            return 0.0
        usable = self._turn.parking.usable()
        due_in = await self._turn.ask(lambda connection: queue.seconds_to_next(connection, usable))
        poll = poll_s * (0.9 + 0.2 * self._chance())
        waits = [poll, due_in, self._turn.parking.over_in()]
        return max(SHORTEST_SLEEP_S, min(wait for wait in waits if wait is not None))

    async def _start_housekeeping(self) -> None:
        """Lets the housekeeping run beside the turns: nothing that it waits for delays a send."""
        if self._housekeeping is None or self._housekeeping.done():
            await self._end_housekeeping()
            self._housekeeping = asyncio.create_task(keep_house(self._turn, self._retention))

    async def _end_housekeeping(self) -> None:
        """Ends it if it still runs. Raises what it raised, unless the database was away."""
        if self._housekeeping is not None:
            self._housekeeping.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._housekeeping

    async def _sleep(self, pause: float, stop: asyncio.Event) -> None:
        waits = [asyncio.create_task(stop.wait()), asyncio.create_task(self._wake.wait())]
        try:
            await asyncio.wait(waits, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await wait


async def reap(turn: Turn) -> int:
    """Gives back what ran out, in one bounded statement, and says so in the log."""
    reaped = await turn.ask(queue.reap)
    if reaped:
        log.warning(
            "reaped %d deliveries whose lease ran out",
            len(reaped),
            extra={"action": "reap", "ids": [r.id for r in reaped]},
        )
    return len(reaped)


async def keep_house(turn: Turn, retention: Retention | None) -> None:
    """Keeps house; what keeps it from that is said in the log, since there is a next time."""
    try:
        await turn.ask(lambda connection: housekeeping(connection, retention))
    except AWAY as error:
        log.warning("housekeeping failed: %s", error, extra={"action": "housekeeping-failed"})
