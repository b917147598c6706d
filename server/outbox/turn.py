"""What a worker works with, and one turn of it: claim a batch, send it side by side, settle it."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import TypeVar

from . import queue
from .channels import Channel
from .connect import Connect, bounded
from .flight import Cut
from .lag import LoopLag
from .lease import Leases
from .lent import Lent
from .model import Delivery, Tally
from .parking import Parking
from .policy import Policy
from .shift import Shift

log = logging.getLogger(__name__)

T = TypeVar("T")

LEAVING_S = 2.0
"""How long the database is waited for once there is no time left."""


class Turn:
    """Does the work of a worker, a batch at a time. No transaction is open while it sends.

    `leases` is what it holds, `lag` how late its event loop is; a lease keeper (keeper.py)
    extends the one and measures the other. `parking` knows the channels that
    are left alone. Without a keeper a lease is extended before a send that it would not cover.
    Raises ConfigurationError if a send could outlive its lease.
    """

    def __init__(  # noqa: PLR0913 - two of the six stand in for chance and time in tests
        self,
        connect: Connect,
        channels: Mapping[str, Channel],
        policy: Policy,
        *,
        holder: str,
        chance: Callable[[], float] = random.random,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.connect = connect
        self.channels = channels
        self.policy = policy
        self.holder = holder
        self.clock = clock
        self.chance = chance
        self.leases = Leases()
        self.lag = LoopLag()
        self.figures = {name: policy.of_channel(channel) for name, channel in channels.items()}
        for name, figures in self.figures.items():
            policy.check(name, figures)
        self.parking = Parking(self.figures, most_s=policy.breaker_most_s, clock=clock)
        self.leaving = asyncio.Event()
        self._shift: Shift | None = None

    def leave(self) -> None:
        """Ends at once. May be called from a signal handler of the loop, once or more.

        Sends that run are cancelled and left to their leases, since nobody knows whether they
        arrived. What was not started is handed back and what is finished is settled, if the
        database answers within moments.
        """
        self.leaving.set()

    def lose(self, deliveries: Sequence[Delivery]) -> None:
        """Takes note that leases are lost: sends under them are cancelled, or not begun."""
        log.warning(
            "lost the lease of %d deliveries",
            len(deliveries),
            extra={"action": "lease-lost", "ids": sorted(one.id for one in deliveries)},
        )
        if self._shift is not None:
            self._shift.flight.cut(Cut.LOST, deliveries)

    async def take(
        self,
        stop: asyncio.Event,
        *,
        limit: int | None = None,
        channels: Collection[str] | None = None,
    ) -> Tally:
        """Claims, sends and settles one batch of at most `limit`; returns what came of it.

        With `channels` it claims for those only. Once `stop` is set a Shift's rules hold. Raises
        psycopg.OperationalError if the database is away at the claim, and SettleAbandonedError if
        it stays away after the sends while stopping.
        """
        async with self.shift(stop, Tally()) as shift:
            await shift.exchange(limit=limit, channels=channels)
            await shift.finish()
        return shift.tally

    def shift(self, stop: asyncio.Event, tally: Tally, lent: Lent | None = None) -> Shift:
        """Begins a shift, one at a time; its exchanges go over `lent`, if that is given."""
        self._shift = Shift(self, stop, tally, self.ask if lent is None else lent.ask)
        return self._shift

    async def extend(self) -> None:
        """Renews every lease that is held. Raises psycopg.OperationalError if that fails."""
        asked = self.leases.held()
        asked_at = self.clock()
        lease_s = self.policy.lease_s
        kept = await self.ask(lambda connection: queue.extend(connection, asked, lease_s=lease_s))
        if lost := self.leases.renewed(asked, kept, asked_at + lease_s):
            self.lose(lost)

    async def ask(self, work: Callable[[queue.Connection], Awaitable[T]]) -> T:
        """Asks the database something, and does not wait for its answer for ever."""
        return await bounded(self.connect, work, within_s=self.patience_s)

    @property
    def patience_s(self) -> float:
        """How long an answer of the database is waited for."""
        return LEAVING_S if self.leaving.is_set() else self.policy.statement_s
