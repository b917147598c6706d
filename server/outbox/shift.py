"""A worker's shift: exchanges outcomes for new deliveries, until it is told to stop.

An exchange is one transaction in one round trip: it settles what has been sent meanwhile and
claims what is to be sent next. No transaction is open while something is sent.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

import psycopg

from . import queue
from .account import told
from .breaker import Standing
from .connect import AWAY
from .flight import Cut, Flight
from .landing import Landing
from .model import Delivery, Settlement, Tally
from .policy import covered, decide, next_ahead, wants_more
from .sending import send_one

if TYPE_CHECKING:
    from .lent import Lent
    from .turn import Turn

log = logging.getLogger(__name__)

T = TypeVar("T")

SETTLE_WITHIN_S = 1.0
"""For how long an outcome may wait for others, with which it is settled, while sends go on."""


class Ask(Protocol):
    """Asks the database something, and does not wait for its answer for ever."""

    async def __call__(self, work: Callable[[queue.Connection], Awaitable[T]]) -> T:
        """Returns what `work` does on a connection."""


class Shift:
    """What one worker has on its way, from its first claim to its last settle.

    Once `stop` is set nothing more is started: what has not been started is released at once,
    what has been is finished and settled, or cut off when the policy's `stop_s` are over. `tally`
    counts what comes of everything, and `ask` lends the connection for the exchanges. Used as a
    context: whatever is still on its way at the end is cancelled and left to its lease.
    """

    def __init__(self, turn: Turn, stop: asyncio.Event, tally: Tally, ask: Ask) -> None:
        self.tally = tally
        self._turn = turn
        self._stop = stop
        self._ask = ask
        self.flight = Flight(
            self._carry,
            self._cut_unstarted,
            concurrency=turn.policy.concurrency,
            limits={name: one.concurrency for name, one in turn.figures.items()},
            timeouts={name: one.send_timeout_s for name, one in turn.figures.items()},
            stop=stop,
        )
        self._ahead = 0
        self._landed = 0
        self._asked = 0
        self._dry = False
        self._beside: asyncio.Task[None] | None = None
        self._outcomes: list[Settlement] = []
        self._left: list[Delivery] = []
        self._landing = Landing(turn, stop, tally, self.flight.stir)
        self._renewing = asyncio.Lock()
        self._watch: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        """Begins to watch for `stop`."""
        self._watch = asyncio.create_task(self._watch_stop())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Cancels whatever is left."""
        self._landing.abandon()
        for task in (self._watch, self._beside):
            if task is not None:
                task.cancel()
        if self._beside is not None:
            await asyncio.gather(self._beside, return_exceptions=True)
        await self.flight.abandon()
        self._turn.leases.drop(self._turn.leases.held())

    @property
    def idle(self) -> bool:
        """Whether nothing is on its way or asked for, and nothing waits to be settled."""
        return not self._outcomes and self.flight.aboard == 0 and self._asked == 0

    async def exchange(
        self, *, limit: int | None = None, channels: Collection[str] | None = None
    ) -> bool:
        """Settles what is finished and claims at most `limit`, a batch by default.

        With `channels` it claims for those only. Returns whether it got as many as it asked for.
        Outcomes that cannot be saved are tried again, and nothing is claimed before they are.
        Raises psycopg.OperationalError if the database is away and there is nothing to settle,
        and SettleAbandonedError if it stays away while stopping.
        """
        self._check_beside()
        turn, flight = self._turn, self.flight
        most = turn.policy.batch if limit is None else limit
        among = turn.channels if channels is None else channels
        got = await self._exchange(self._ask, most, among)
        for name in turn.parking.standing(Standing.PROBING):
            if got < most and name in among and not flight.holds(name):
                got += await self._probe(name)
        return got >= most

    def hurry(self, lent: Lent) -> None:
        """Lets exchanges go over a second connection as well, while sends keep up with both.

        They end by themselves, with the backlog or with sends that take longer.
        """
        self._check_beside()
        if self._beside is None and self._turn.policy.exchanges > 1 and not self._hurried_enough():
            self._beside = asyncio.create_task(self._exchange_beside(lent))

    async def until_due(self) -> None:
        """Returns when it is time for the next exchange, if the queue had as much as was asked."""
        await self.flight.until(
            lambda: self._wants_more() or self._stop.is_set(), within_s=SETTLE_WITHIN_S
        )

    async def until_landed(self) -> None:
        """Returns when nothing is on its way, or when an outcome should not wait any longer."""
        await self.flight.until(
            lambda: self.flight.aboard == 0 and self._asked == 0, within_s=SETTLE_WITHIN_S
        )

    async def finish(self) -> None:
        """Waits for the sends, settles them, and hands back what was not started.

        Raises SettleAbandonedError if the database stays away while stopping.
        """
        if self._beside is not None:
            await self._beside
        await self.flight.until(lambda: self.flight.aboard == 0)
        if self._left:
            told(
                "left %d deliveries to their leases: they were being sent",
                "left-leased",
                self._left,
                level=logging.WARNING,
            )
        settling, self._outcomes = self._outcomes, []
        await self._landing.finish(settling)

    def _wants_more(self) -> bool:
        flight = self.flight
        return wants_more(
            self._turn.policy,
            running=flight.running,
            waiting=flight.waiting,
            ahead=self._ahead,
            asked=self._asked,
        )

    async def _exchange(self, ask: Ask, most: int, among: Collection[str]) -> int:
        """Settles what is finished and claims for these channels; returns how many it got.

        Returns `most` without having claimed if it had to try again to settle.
        """
        turn, flight = self._turn, self.flight
        if self._landing.unsaved:
            await flight.until(lambda: not self._landing.unsaved)
        opened = []
        if flight.running < turn.policy.concurrency or self._wants_more():
            opened = [
                name
                for name in turn.parking.standing(Standing.OPEN)
                if name in among and not flight.waits(name)
            ]
        self._landing.hand_back()
        settling, self._outcomes = self._outcomes, []
        aboard, landed = flight.aboard, self._landed
        asked_at = turn.clock()
        self._asked += 1
        try:
            answers, deliveries = await ask(
                lambda connection: queue.exchange(
                    connection,
                    settling,
                    holder=turn.holder,
                    channels=opened,
                    limit=most,
                    lease_s=turn.policy.lease_s,
                )
            )
        except psycopg.Error as error:
            if not settling:
                raise
            await self._landing.save(settling, error)
            return most
        finally:
            self._asked -= 1
            flight.stir()
        landed = self._landed - landed
        self._ahead = next_ahead(turn.policy, self._ahead, aboard=aboard, landed=landed)
        self._landing.saved(settling, answers)
        self._admit(deliveries, asked_at)
        self._dry = len(deliveries) < most
        return len(deliveries)

    async def _exchange_beside(self, lent: Lent) -> None:
        """Exchanges over a second connection for as long as that has a purpose."""
        policy = self._turn.policy
        try:
            await lent.open()
            while True:
                await self.flight.until(lambda: self._hurried_enough() or self._wants_more())
                if self._hurried_enough():
                    return
                await self._exchange(lent.ask, policy.batch, self._turn.channels)
        except AWAY as error:  # the first connection will find out by itself
            log.info("no second connection: %s", error, extra={"action": "database-away"})
        finally:
            await lent.give_back()

    def _hurried_enough(self) -> bool:
        """Whether one connection will do."""
        return (
            self._dry
            or self._landing.unsaved > 0
            or self._stop.is_set()
            or self._ahead < self._turn.policy.batch
        )

    def _check_beside(self) -> None:
        """Raises what the exchanges beside these came to, if they ended with an error."""
        if self._beside is not None and self._beside.done():
            beside, self._beside = self._beside, None
            beside.result()

    async def _probe(self, channel: str) -> int:
        """Takes one delivery of a channel that was parked; returns how many there were."""
        turn = self._turn
        asked_at = turn.clock()
        deliveries = await self._ask(
            lambda connection: queue.claim(
                connection,
                holder=turn.holder,
                channels=[channel],
                limit=1,
                lease_s=turn.policy.lease_s,
            )
        )
        self._admit(deliveries, asked_at)
        return len(deliveries)

    def _admit(self, deliveries: Sequence[Delivery], asked_at: float) -> None:
        if not deliveries:
            return
        self._turn.leases.hold(deliveries, asked_at + self._turn.policy.lease_s)
        self.tally.claimed += len(deliveries)
        told("claimed %d deliveries", "claim", deliveries, level=logging.DEBUG)
        if self._stop.is_set():
            self._landing.keep(deliveries)
        else:
            self.flight.admit(deliveries)

    async def _watch_stop(self) -> None:
        """Hands back what waits as soon as `stop` is set, and cuts off what takes too long."""
        await self._stop.wait()
        self._landing.note_stop()
        self._landing.hand_back(self.flight.withdraw())
        try:
            async with asyncio.timeout(self._turn.policy.stop_s):
                await self._turn.leaving.wait()
        except TimeoutError:
            self.flight.cut(Cut.STOPPED)
            await self._turn.leaving.wait()
        self.flight.cut(Cut.LEFT)

    async def _carry(self, delivery: Delivery) -> None:
        """Brings one delivery to its outcome, if its lease allows a send."""
        if not (self._covers(delivery) or await self._may_start(delivery)):
            return
        turn = self._turn
        outcome = await send_one(
            turn.channels[delivery.channel],
            delivery,
            lambda: self.flight.cut_by(delivery),
            timeout_s=turn.figures[delivery.channel].send_timeout_s,
        )
        if outcome is Cut.LOST:
            self.tally.lost += 1
        elif outcome is Cut.LEFT:
            self._left.append(delivery)
        elif not isinstance(outcome, Cut):
            if turn.parking.judge(delivery.channel, outcome):
                self._landing.hand_back(self.flight.withdraw([delivery.channel]))
            self._landed += 1
            self._outcomes.append(decide(turn.policy, delivery, outcome, turn.chance()))

    def _cut_unstarted(self, delivery: Delivery) -> None:
        """Takes note of a delivery that was cut before anything of it was sent."""
        if self.flight.cut_by(delivery) is Cut.LOST:
            self.tally.lost += 1
        else:
            self._landing.keep([delivery])

    async def _may_start(self, delivery: Delivery) -> bool:
        """Extends all leases and returns whether that covers this one's send."""
        try:
            async with self._renewing:
                if not self._covers(delivery):
                    await self._turn.extend()
        except AWAY as error:
            log.warning("could not extend leases: %s", error, extra={"action": "extend-failed"})
        if self._turn.leases.ends(delivery) is None:
            self.tally.lost += 1
            return False
        if not self._covers(delivery):
            self._landing.keep([delivery])
            return False
        return True

    def _covers(self, delivery: Delivery) -> bool:
        turn = self._turn
        ends = turn.leases.ends(delivery)
        timeout_s = turn.figures[delivery.channel].send_timeout_s
        return ends is not None and covered(
            turn.policy, timeout_s=timeout_s, now=turn.clock(), lease_ends=ends
        )
