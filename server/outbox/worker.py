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
from .lent import Lent
from .model import Tally
from .policy import growing_pause
from .retention import Retention
from .shift import Shift
from .turn import Turn

log = logging.getLogger(__name__)

SHORTEST_SLEEP_S = 0.02
REAP_S = 1.0
"""How often a busy worker gives back what others have lost, at the least."""

REAPS_A_LEASE = 20
"""The same where leases are short."""


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
        self._lent = Lent(turn.connect, lambda: turn.patience_s)
        self._second = Lent(turn.connect, lambda: turn.patience_s)
        self._beat_at: float | None = None
        self._reaped_at: float | None = None
        self._housekeeping: asyncio.Task[None] | None = None
        self.done = Tally()

    async def run(self, stop: asyncio.Event) -> Tally:
        """Works until `stop` is set, then finishes what has been started; returns the sums.

        A database that is away is waited for, with growing pauses. Raises SettleAbandonedError if
        it stays away while stopping, with outcomes that nobody has saved.
        """
        turn = self._turn
        log.info("worker %s starts", turn.holder, extra={"action": "start"})
        lent = self._lent
        waking = asyncio.create_task(self._wake_at(stop))
        try:
            async with turn.shift(stop, self.done, lent) as shift:
                await self._work(shift, lent, stop)
                await shift.finish()
        finally:
            waking.cancel()
            await lent.give_back()
            await self._end_housekeeping()
        try:
            await turn.ask(lambda connection: presence.depart(connection, holder=turn.holder))
        except AWAY as error:
            log.warning("could not sign off: %s", error, extra={"action": "database-away"})
        log.info("worker %s ends", turn.holder, extra={"action": "stop"})
        return self.done

    async def _work(self, shift: Shift, lent: Lent, stop: asyncio.Event) -> None:
        failures = 0
        while not stop.is_set():
            self._wake.clear()
            try:
                await self._look_after()
                if await shift.exchange():
                    shift.hurry(self._second)
                    await shift.until_due()
                elif not shift.idle:
                    await self._until_landed(shift)
                elif not await self._reap() and await self._sleep(await self._pause()):
                    # Nobody woke it: whether the connection still lives is to be seen anew.
                    await lent.give_back()
                failures = 0
            except AWAY as error:
                failures += 1
                log.warning("the database is away: %s", error, extra={"action": "database-away"})
                await self._sleep(growing_pause(failures, first_s=0.2, most_s=10.0))

    async def _look_after(self) -> None:
        """What has to be done now and then: shows that it is there, reaps, keeps house."""
        turn, now = self._turn, self._clock()
        poll_s = turn.policy.poll_s
        if self._beat_at is None or now - self._beat_at >= poll_s:
            await turn.ask(
                lambda connection: presence.beat(connection, holder=turn.holder, beat_s=poll_s)
            )
            self._beat_at = now
            await self._start_housekeeping()
        reap_s = min(REAP_S, turn.policy.lease_s / REAPS_A_LEASE)
        if self._reaped_at is None or now - self._reaped_at >= reap_s:
            await self._reap()

    async def _reap(self) -> int:
        """Gives back what others have lost; returns how much. What waits to be sent comes first."""
        self._reaped_at = self._clock()
        reaped = await reap(self._turn, self._lent)
        self.done.reaped += reaped
        return reaped

    async def _pause(self) -> float:
        """For how long to sleep when nothing is due and nothing is on its way, in seconds."""
        turn = self._turn
        usable = turn.parking.usable()
        due_in = await self._lent.ask(lambda connection: queue.seconds_to_next(connection, usable))
        poll = turn.policy.poll_s * (0.9 + 0.2 * self._chance())
        waits = [poll, due_in, turn.parking.over_in()]
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

    async def _sleep(self, pause: float) -> bool:
        """Sleeps, unless it is woken or told to stop; returns whether it slept to the end.

        Without tasks of its own: each would stand between a notification and the claim.
        """
        over = asyncio.Event()

        def end() -> None:
            over.set()
            self._wake.set()

        alarm = asyncio.get_running_loop().call_later(pause, end)
        try:
            await self._wake.wait()
        finally:
            alarm.cancel()
        return over.is_set()

    async def _until_landed(self, shift: Shift) -> None:
        """Returns when the shift has something to settle, or when woken. Raises what it raised."""
        waits = [asyncio.create_task(w) for w in (shift.until_landed(), self._wake.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            if waits[0].done():
                waits[0].result()
        finally:
            for task in waits:
                task.cancel()
            await asyncio.gather(*waits, return_exceptions=True)

    async def _wake_at(self, stop: asyncio.Event) -> None:
        """Lets no sleep last beyond `stop`."""
        await stop.wait()
        self._wake.set()


async def reap(turn: Turn, lent: Lent | None = None) -> int:
    """Gives back what ran out, in one bounded statement, and says so in the log."""
    reaped = await (turn.ask if lent is None else lent.ask)(queue.reap)
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
