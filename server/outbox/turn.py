"""One turn of a worker: claim a batch, send it side by side, settle it in one statement."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable, Mapping, Sequence

import psycopg

from . import queue
from .channels import Channel
from .connect import Connect
from .errors import ChannelDown, Refused, RetryLater, SettleAbandonedError
from .model import (
    Delivery,
    Failed,
    Outcome,
    Rejected,
    Sent,
    Settled,
    Settlement,
    Status,
    Tally,
    Verdict,
)
from .policy import Policy, covered, decide, growing_pause

log = logging.getLogger(__name__)


class Batch:
    """The deliveries of one claim, and until when their lease surely holds.

    The lease is timed from before the claim was sent, on this machine's steady clock, so that it
    never seems to last longer than it does in the database. `ends` is on that clock.
    """

    def __init__(self, deliveries: Sequence[Delivery], ends: float) -> None:
        self.deliveries = deliveries
        self.ends = ends
        self.lost: set[int] = set()
        self.unstarted: list[Delivery] = []
        self.settlements: list[Settlement] = []
        self.renewing = asyncio.Lock()


class Turn:
    """Does the work of a worker, a batch at a time. No transaction is open while it sends."""

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
        self._chance = chance
        self._clock = clock

    async def take(self, stop: asyncio.Event, *, limit: int | None = None) -> Tally:
        """Claims, sends and settles one batch of at most `limit`; returns what came of it.

        Once `stop` is set nothing more is started: what has not been started is released, what
        has been is finished and settled. Raises psycopg.OperationalError if the database is away
        at the claim, and SettleAbandonedError if it stays away after the sends while stopping.
        """
        asked_at = self._clock()
        async with self.connect() as connection:
            deliveries = await queue.claim(
                connection,
                holder=self.holder,
                channels=self.channels,
                limit=self.policy.batch if limit is None else limit,
                lease_s=self.policy.lease_s,
            )
        tally = Tally(claimed=len(deliveries))
        if not deliveries:
            return tally
        log.info(
            "claimed %d deliveries",
            len(deliveries),
            extra={"action": "claim", "ids": _ids(deliveries)},
        )
        batch = Batch(deliveries, asked_at + self.policy.lease_s)
        gate = asyncio.Semaphore(self.policy.concurrency)
        async with asyncio.TaskGroup() as group:
            for delivery in deliveries:
                group.create_task(self._handle(delivery, batch, gate, stop))
        tally.lost = len(batch.lost)
        tally.released = await self._release(batch.unstarted)
        self._count(tally, await self._settle(batch.settlements, stop))
        return tally

    async def _handle(
        self, delivery: Delivery, batch: Batch, gate: asyncio.Semaphore, stop: asyncio.Event
    ) -> None:
        async with gate:
            if stop.is_set():
                batch.unstarted.append(delivery)
            elif await self._may_start(delivery, batch):
                outcome = await self._send(delivery)
                batch.settlements.append(decide(self.policy, delivery, outcome, self._chance()))

    async def _may_start(self, delivery: Delivery, batch: Batch) -> bool:
        """Whether the lease covers a send that starts now, renewing the batch's lease if not."""
        async with batch.renewing:
            if not covered(
                self.policy,
                timeout_s=self.policy.send_timeout_s,
                now=self._clock(),
                lease_ends=batch.ends,
            ):
                asked_at = self._clock()
                try:
                    async with self.connect() as connection:
                        held = await queue.extend(
                            connection, batch.deliveries, lease_s=self.policy.lease_s
                        )
                except psycopg.OperationalError as error:
                    log.warning(
                        "could not extend a lease: %s", error, extra={"action": "extend-failed"}
                    )
                    batch.unstarted.append(delivery)
                    return False
                self._note_lost(batch, held)
                batch.ends = asked_at + self.policy.lease_s
        return delivery.id not in batch.lost

    def _note_lost(self, batch: Batch, held: set[int]) -> None:
        lost = {d.id for d in batch.deliveries} - held - batch.lost
        if lost:
            batch.lost |= lost
            log.warning(
                "lost the lease of %d deliveries",
                len(lost),
                extra={"action": "lease-lost", "ids": sorted(lost)},
            )

    async def _send(self, delivery: Delivery) -> Outcome:
        try:
            async with asyncio.timeout(self.policy.send_timeout_s):
                return Sent(await self.channels[delivery.channel].send(delivery))
        except Refused as error:
            return Rejected(str(error), error.code)
        except RetryLater as error:
            return Failed(str(error), "retry-later", error.after_s)
        except ChannelDown as error:
            return Failed(str(error), "channel-down")
        except TimeoutError:
            return Failed(f"no answer within {self.policy.send_timeout_s:g} s", "timeout")
        except Exception as error:  # noqa: BLE001 - whatever a channel raises is an outcome
            return Failed(f"{type(error).__name__}: {error}")

    async def _release(self, deliveries: Sequence[Delivery]) -> int:
        if not deliveries:
            return 0
        try:
            async with self.connect() as connection:
                released = await queue.release(connection, deliveries)
        except psycopg.OperationalError as error:
            log.warning(
                "could not release %d deliveries, their lease has to run out: %s",
                len(deliveries),
                error,
                extra={"action": "release-failed", "ids": _ids(deliveries)},
            )
            return 0
        log.info(
            "released %d deliveries",
            len(released),
            extra={"action": "release", "ids": sorted(released)},
        )
        return len(released)

    async def _settle(
        self, settlements: Sequence[Settlement], stop: asyncio.Event
    ) -> Sequence[Settled]:
        """Writes the outcomes, however often it takes; nothing is claimed meanwhile."""
        failures = 0
        give_up_at: float | None = None
        while True:
            try:
                async with self.connect() as connection:
                    return await queue.settle(connection, settlements)
            except psycopg.OperationalError as error:
                failures += 1
                log.warning(
                    "could not settle %d deliveries, trying again: %s",
                    len(settlements),
                    error,
                    extra={"action": "settle-failed", "failures": failures},
                )
                if stop.is_set():
                    give_up_at = give_up_at or self._clock() + self.policy.send_timeout_s
                    if self._clock() >= give_up_at:
                        ids = [s.id for s in settlements]
                        raise SettleAbandonedError(
                            f"outcomes of {ids} are lost: {error}"
                        ) from error
            await asyncio.sleep(growing_pause(failures, first_s=0.1, most_s=5.0))

    @staticmethod
    def _count(tally: Tally, settled: Sequence[Settled]) -> None:
        for answer in settled:
            extra: dict[str, object] = {
                "delivery": answer.id,
                "attempt": answer.attempt,
                "current_attempt": answer.current_attempt,
                "status": answer.status,
            }
            if answer.verdict is Verdict.REFUSED:
                tally.refused += 1
                log.warning(
                    "refused a late write to delivery %d",
                    answer.id,
                    extra={"action": "refuse"} | extra,
                )
                continue
            if answer.verdict is Verdict.LATE:
                tally.late += 1
                log.warning(
                    "accepted that delivery %d was sent, late",
                    answer.id,
                    extra={"action": "late"} | extra,
                )
            match answer.status:
                case Status.SENT:
                    tally.sent += 1
                case Status.PENDING:
                    tally.retried += 1
                case Status.FAILED:
                    tally.failed += 1
                case Status.DEAD:
                    tally.dead += 1
                case Status.PROCESSING | None:
                    raise AssertionError(answer)
        if settled:
            log.info("settled %d deliveries", len(settled), extra={"action": "settle"})


def _ids(deliveries: Sequence[Delivery]) -> list[int]:
    return [delivery.id for delivery in deliveries]
