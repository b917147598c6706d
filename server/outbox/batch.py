"""The deliveries of one claim on their way: which wait, which are being sent, what came of them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from typing import Any

from .model import Delivery, Settlement, Tally


class Cut(StrEnum):
    """Why a send that runs is cancelled from outside."""

    LOST = "lost"
    STOPPED = "stopped"
    LEFT = "left"


class Batch:
    """Starts sends in the order of the claim as far as the limits allow, and never blocks.

    `limits` says how many sends each channel may have side by side, `concurrency` how many there
    may be in all. `send` handles one delivery to its end. Belongs to one event loop.
    """

    def __init__(
        self,
        deliveries: Sequence[Delivery],
        send: Callable[[Delivery], Coroutine[Any, Any, None]],
        *,
        concurrency: int,
        limits: Mapping[str, int],
    ) -> None:
        self.deliveries = deliveries
        self.settlements: list[Settlement] = []
        self.returnable: list[Delivery] = []
        self.left: list[Delivery] = []
        self.handing_back: set[asyncio.Task[None]] = set()
        self.tally = Tally(claimed=len(deliveries))
        self._send = send
        self._concurrency = concurrency
        self._limits = limits
        self._place = {delivery.id: place for place, delivery in enumerate(deliveries)}
        self._waiting: dict[str, deque[Delivery]] = {}
        for delivery in deliveries:
            self._waiting.setdefault(delivery.channel, deque()).append(delivery)
        self._busy = dict.fromkeys(self._waiting, 0)
        self._sending: dict[int, asyncio.Task[None]] = {}
        self._cuts: dict[int, Cut] = {}
        self._over = asyncio.Event()

    async def run(self) -> None:
        """Sends everything that is not withdrawn meanwhile, and waits for it."""
        async with asyncio.TaskGroup() as group:
            self._advance(group)
            try:
                await self._over.wait()
            except asyncio.CancelledError:
                self.withdraw()
                raise

    def withdraw(self, channels: Iterable[str] | None = None) -> list[Delivery]:
        """Takes out what has not been started, of these channels or of all, and returns it."""
        names = self._waiting if channels is None else channels
        taken = [delivery for name in names for delivery in self._waiting.get(name, ())]
        for name in names:
            if name in self._waiting:
                self._waiting[name].clear()
        self._note_end()
        return taken

    def cut(self, why: Cut, ids: Iterable[int] | None = None) -> None:
        """Cancels sends that run, these or all; `cut_by` tells their handler why."""
        for number in list(self._sending) if ids is None else ids:
            task = self._sending.get(number)
            if task is not None and number not in self._cuts:
                self._cuts[number] = why
                task.cancel()

    def cut_by(self, delivery: Delivery) -> Cut | None:
        """Why the send of a delivery was cancelled; None if we did not cancel it."""
        return self._cuts.get(delivery.id)

    def _advance(self, group: asyncio.TaskGroup) -> None:
        """Starts what the limits allow."""
        while len(self._sending) < self._concurrency:
            heads = [
                waiting[0]
                for name, waiting in self._waiting.items()
                if waiting and self._busy[name] < self._limits[name]
            ]
            if not heads:
                break
            delivery = min(heads, key=lambda one: self._place[one.id])
            self._waiting[delivery.channel].popleft()
            self._busy[delivery.channel] += 1
            task = group.create_task(self._send(delivery))
            self._sending[delivery.id] = task
            task.add_done_callback(partial(self._ended, group, delivery))
        self._note_end()

    def _ended(
        self, group: asyncio.TaskGroup, delivery: Delivery, task: asyncio.Task[None]
    ) -> None:
        del self._sending[delivery.id]
        self._busy[delivery.channel] -= 1
        if not task.cancelled() and task.exception() is not None:
            self.withdraw()  # the group is giving up
        self._advance(group)

    def _note_end(self) -> None:
        if not self._sending and not any(self._waiting.values()):
            self._over.set()
