"""How deliveries leave a worker: outcomes are saved, what was not started is handed back."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import psycopg

from . import queue
from .account import count
from .connect import AWAY
from .errors import SettleAbandonedError
from .model import Delivery, Settled, Settlement, Tally
from .policy import growing_pause

if TYPE_CHECKING:
    from .turn import Turn

log = logging.getLogger(__name__)


class Landing:
    """Writes what became of deliveries until it is written. `stir` is called when that changes.

    While `unsaved` is not 0, that many writes are being tried again, and nothing is to be claimed.
    """

    def __init__(
        self, turn: Turn, stop: asyncio.Event, tally: Tally, stir: Callable[[], None]
    ) -> None:
        self.unsaved = 0
        self._turn = turn
        self._stop = stop
        self._tally = tally
        self._stir = stir
        self._returnable: list[Delivery] = []
        self._handing_back: set[asyncio.Task[None]] = set()
        self._stopped_at: float | None = None

    async def finish(self, settlements: Sequence[Settlement]) -> None:
        """Saves the last outcomes, and hands back all that is kept.

        Raises SettleAbandonedError if the database stays away while stopping.
        """
        if settlements:
            await self.save(settlements)
        await asyncio.gather(*self._handing_back)
        returnable, self._returnable = self._returnable, []
        await self._release(returnable)

    def abandon(self) -> None:
        """Cancels what is being handed back."""
        for task in self._handing_back:
            task.cancel()

    def keep(self, deliveries: Sequence[Delivery]) -> None:
        """Takes in what was not started, to be handed back with the next that is."""
        self._returnable += deliveries

    def hand_back(self, deliveries: Sequence[Delivery] = ()) -> None:
        """Releases these and what was kept, beside the sends that go on."""
        deliveries = [*self._returnable, *deliveries]
        self._returnable = []
        if deliveries:
            task = asyncio.create_task(self._release(deliveries))
            self._handing_back.add(task)
            task.add_done_callback(self._handing_back.discard)

    async def _release(self, deliveries: Sequence[Delivery]) -> None:
        """Hands deliveries back; if that fails, it is tried again, the last time at the end."""
        if not deliveries:
            return
        self._turn.leases.drop(deliveries)
        try:
            released = await self._turn.ask(
                lambda connection: queue.release(connection, deliveries)
            )
        except AWAY as error:
            log.warning(
                "could not release %d deliveries: %s",
                len(deliveries),
                error,
                extra={"action": "release-failed", "ids": sorted(d.id for d in deliveries)},
            )
            self._returnable += deliveries
            return
        self._tally.released += len(released)
        log.info(
            "released %d deliveries",
            len(released),
            extra={"action": "release", "ids": sorted(released)},
        )

    def saved(self, settlements: Sequence[Settlement], answers: Sequence[Settled]) -> None:
        """Takes note of outcomes that have been written."""
        self._turn.leases.drop(settlements)
        count(self._tally, answers)

    async def save(
        self, settlements: Sequence[Settlement], error: psycopg.Error | None = None
    ) -> None:
        """Writes outcomes, however often it takes; nothing is claimed meanwhile.

        `error` is what the first try came to, if there was one.
        """
        failures = 0
        self.unsaved += 1
        try:
            while True:
                if error is not None:
                    failures += 1
                    await self._pause_settling(settlements, failures, error)
                try:
                    answers = await self._turn.ask(
                        lambda connection: queue.settle(
                            connection, settlements, holder=self._turn.holder
                        )
                    )
                except psycopg.Error as next_error:
                    error = next_error
                    continue
                self.saved(settlements, answers)
                return
        finally:
            self.unsaved -= 1
            self._stir()

    async def _pause_settling(
        self, settlements: Sequence[Settlement], failures: int, error: psycopg.Error
    ) -> None:
        log.warning(
            "could not settle %d deliveries, trying again: %s",
            len(settlements),
            error,
            extra={"action": "settle-failed", "failures": failures},
        )
        leaving = self._turn.leaving
        if leaving.is_set() or (
            self._stop.is_set()
            and self._turn.clock() >= self.note_stop() + self._turn.policy.stop_s
        ):
            ids = sorted(one.id for one in settlements)
            raise SettleAbandonedError(f"outcomes of {ids} are lost: {error}") from error
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(growing_pause(failures, first_s=0.1, most_s=5.0)):
                await leaving.wait()

    def note_stop(self) -> float:
        """When it was first seen that this worker is to stop, on its clock."""
        if self._stopped_at is None:
            self._stopped_at = self._turn.clock()
        return self._stopped_at
