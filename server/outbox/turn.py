"""One turn of a worker: claim a batch, send it side by side, settle it in one statement."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import TypeVar

import psycopg

from . import queue
from .account import count, told
from .batch import Batch, Cut
from .breaker import Standing
from .channels import Channel
from .connect import AWAY, Connect, bounded
from .errors import SettleAbandonedError
from .lag import LoopLag
from .lease import Leases
from .model import Delivery, Failed, Settled, Settlement, Tally
from .parking import Parking
from .policy import Policy, covered, decide, growing_pause
from .sending import send_one

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

    def __init__(
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
        self.leases = Leases()
        self.lag = LoopLag()
        self.figures = {name: policy.of_channel(channel) for name, channel in channels.items()}
        for name, figures in self.figures.items():
            policy.check(name, figures)
        self.parking = Parking(self.figures, most_s=policy.breaker_most_s, clock=clock)
        self._chance = chance
        self._batch: Batch | None = None
        self._renewing = asyncio.Lock()
        self._stopped_at: float | None = None
        self._leaving = asyncio.Event()

    def leave(self) -> None:
        """Ends at once. May be called from a signal handler of the loop, once or more.

        Sends that run are cancelled and left to their leases, since nobody knows whether they
        arrived. What was not started is handed back and what is finished is settled, if the
        database answers within moments.
        """
        self._leaving.set()

    def lose(self, ids: Collection[int]) -> None:
        """Takes note that leases are lost: sends under them are cancelled, or not begun."""
        log.warning(
            "lost the lease of %d deliveries",
            len(ids),
            extra={"action": "lease-lost", "ids": sorted(ids)},
        )
        if self._batch is not None:
            self._batch.cut(Cut.LOST, ids)

    async def take(
        self,
        stop: asyncio.Event,
        *,
        limit: int | None = None,
        channels: Collection[str] | None = None,
    ) -> Tally:
        """Claims, sends and settles one batch of at most `limit`; returns what came of it.

        With `channels` it claims for those only.

        Once `stop` is set nothing more is started: what has not been started is released at
        once, what has been is finished and settled, or cut off when the policy's `stop_s` are
        over. Raises psycopg.OperationalError if the database is away at the claim, and
        SettleAbandonedError if it stays away after the sends while stopping.
        """
        deliveries = await self._claim(
            self.policy.batch if limit is None else limit,
            self.channels if channels is None else channels,
        )
        if not deliveries:
            return Tally()
        batch = Batch(
            deliveries,
            lambda delivery: self._handle(delivery, batch),
            concurrency=self.policy.concurrency,
            limits={name: figures.concurrency for name, figures in self.figures.items()},
        )
        self._batch = batch
        watch = asyncio.create_task(self._watch(stop, batch))
        try:
            if stop.is_set():
                batch.returnable += batch.withdraw()
            await batch.run()
            if batch.left:
                told(
                    "left %d deliveries to their leases: they were being sent",
                    "left-leased",
                    batch.left,
                    level=logging.WARNING,
                )
            count(batch.tally, await self._settle(batch.settlements, stop))
            await asyncio.gather(*batch.handing_back)
            await self._release(batch, batch.returnable)
        finally:
            for task in {watch, *batch.handing_back}:
                task.cancel()
            self._batch = None
            self.leases.drop(deliveries)
        return batch.tally

    async def _claim(self, limit: int, among: Collection[str]) -> list[Delivery]:
        """Takes what is due for open channels, and one probe for each that was parked."""
        opened = [name for name in self.parking.standing(Standing.OPEN) if name in among]
        probed = [name for name in self.parking.standing(Standing.PROBING) if name in among]
        lease_s = self.policy.lease_s

        async def claim(connection: queue.Connection) -> list[Delivery]:
            taken: list[Delivery] = []
            for channels, most in [(opened, limit), *(([name], 1) for name in probed)]:
                if channels:
                    taken += await queue.claim(
                        connection,
                        holder=self.holder,
                        channels=channels,
                        limit=min(most, limit - len(taken)),
                        lease_s=lease_s,
                    )
            return taken

        asked_at = self.clock()
        deliveries = await self.ask(claim)
        if deliveries:
            self.leases.hold(deliveries, asked_at + lease_s)
            told("claimed %d deliveries", "claim", deliveries, level=logging.INFO)
        return deliveries

    async def _watch(self, stop: asyncio.Event, batch: Batch) -> None:
        """Hands back what waits as soon as `stop` is set, and cuts off what takes too long."""
        await stop.wait()
        self._note_stop()
        self._hand_back(batch, batch.withdraw())
        try:
            async with asyncio.timeout(self.policy.stop_s):
                await self._leaving.wait()
        except TimeoutError:
            batch.cut(Cut.STOPPED)
            await self._leaving.wait()
        batch.cut(Cut.LEFT)

    async def _handle(self, delivery: Delivery, batch: Batch) -> None:
        started = False
        try:
            if not await self._may_start(delivery, batch):
                return
            started = True
            outcome = await send_one(
                self.channels[delivery.channel],
                delivery,
                timeout_s=self.figures[delivery.channel].send_timeout_s,
            )
        except asyncio.CancelledError:
            why = batch.cut_by(delivery)
            if why is None:
                raise
            if why is Cut.LOST:
                batch.tally.lost += 1
                return
            if not started:
                batch.returnable.append(delivery)
                return
            if why is Cut.LEFT:
                batch.left.append(delivery)
                return
            outcome = Failed("cut off, since the worker had to end", "stopped")
        if self.parking.judge(delivery.channel, outcome):
            self._hand_back(batch, batch.withdraw([delivery.channel]))
        batch.settlements.append(decide(self.policy, delivery, outcome, self._chance()))

    async def _may_start(self, delivery: Delivery, batch: Batch) -> bool:
        """Whether the lease covers a send that starts now, extending all leases if not."""
        if not self._covers(delivery):
            async with self._renewing:
                if not self._covers(delivery):
                    try:
                        await self._extend()
                    except AWAY as error:
                        log.warning(
                            "could not extend leases: %s", error, extra={"action": "extend-failed"}
                        )
        if self.leases.ends(delivery) is None:
            batch.tally.lost += 1
            return False
        if not self._covers(delivery):
            batch.returnable.append(delivery)
            return False
        return True

    def _covers(self, delivery: Delivery) -> bool:
        ends = self.leases.ends(delivery)
        timeout_s = self.figures[delivery.channel].send_timeout_s
        return ends is not None and covered(
            self.policy, timeout_s=timeout_s, now=self.clock(), lease_ends=ends
        )

    async def _extend(self) -> None:
        asked = self.leases.held()
        asked_at = self.clock()
        lease_s = self.policy.lease_s
        kept = await self.ask(lambda connection: queue.extend(connection, asked, lease_s=lease_s))
        if lost := self.leases.renewed(asked, kept, asked_at + lease_s):
            self.lose(lost)

    def _hand_back(self, batch: Batch, deliveries: Sequence[Delivery]) -> None:
        """Releases what was not started, beside the sends that go on."""
        if deliveries:
            batch.handing_back.add(asyncio.create_task(self._release(batch, deliveries)))

    async def _release(self, batch: Batch, deliveries: Sequence[Delivery]) -> None:
        """Hands deliveries back; if that fails once, it is tried once more after the settle."""
        if not deliveries:
            return
        again = deliveries is not batch.returnable
        try:
            released = await self.ask(lambda connection: queue.release(connection, deliveries))
        except AWAY as error:
            log.warning(
                "could not release %d deliveries: %s",
                len(deliveries),
                error,
                extra={"action": "release-failed", "ids": sorted(d.id for d in deliveries)},
            )
            if again:
                batch.returnable += deliveries
            return
        batch.tally.released += len(released)
        log.info(
            "released %d deliveries",
            len(released),
            extra={"action": "release", "ids": sorted(released)},
        )

    async def _settle(
        self, settlements: Sequence[Settlement], stop: asyncio.Event
    ) -> Sequence[Settled]:
        """Writes the outcomes, however often it takes; nothing is claimed meanwhile."""
        if not settlements:
            return []
        failures = 0
        while True:
            try:
                return await self.ask(
                    lambda connection: queue.settle(connection, settlements, holder=self.holder)
                )
            except psycopg.Error as error:
                failures += 1
                log.warning(
                    "could not settle %d deliveries, trying again: %s",
                    len(settlements),
                    error,
                    extra={"action": "settle-failed", "failures": failures},
                )
                if self._leaving.is_set() or (
                    stop.is_set() and self.clock() >= self._note_stop() + self.policy.stop_s
                ):
                    ids = sorted(one.id for one in settlements)
                    raise SettleAbandonedError(f"outcomes of {ids} are lost: {error}") from error
            with contextlib.suppress(TimeoutError):
                pause = growing_pause(failures, first_s=0.1, most_s=5.0)
                await asyncio.wait_for(self._leaving.wait(), pause)

    def _note_stop(self) -> float:
        """When it was first seen that this worker is to stop, on its clock."""
        if self._stopped_at is None:
            self._stopped_at = self.clock()
        return self._stopped_at

    async def ask(self, work: Callable[[queue.Connection], Awaitable[T]]) -> T:
        """Asks the database something, and does not wait for its answer for ever."""
        within_s = LEAVING_S if self._leaving.is_set() else self.policy.statement_s
        return await bounded(self.connect, work, within_s=within_s)
