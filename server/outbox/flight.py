"""The deliveries of a worker on their way: which wait, which are being sent, what came of them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from .model import Delivery

Key = tuple[int, int]
"""Id and attempt. After a lost lease one delivery may be on its way under two attempts."""


LONGEST_STEP_S = 0.01
"""For how long sends that never wait may follow each other before the event loop has its turn."""


class Cut(StrEnum):
    """Why a send that runs is cancelled from outside."""

    LATE = "late"
    LOST = "lost"
    STOPPED = "stopped"
    LEFT = "left"


class Flight:
    """Starts sends in the order of the claims as far as the limits allow, and never blocks.

    `limits` says how many sends each channel may have side by side, `concurrency` how many there
    may be in all; a send is cut off (Cut.LATE) after its channel's `timeouts`. `send` handles one
    delivery to its end, and `unstarted` is told of one whose `send` let its cancellation through,
    because nothing had been sent yet. Once `stop` is set nothing more is started. Belongs to one
    event loop.

    A task that has brought a delivery to its end takes the next one, so sends that end at once
    cost no task each. After a cut it takes none: its cancellation is not to be another one's.
    """

    def __init__(  # noqa: PLR0913 - what starts a send, what bounds it, and what ends all
        self,
        send: Callable[[Delivery], Coroutine[Any, Any, None]],
        unstarted: Callable[[Delivery], None],
        *,
        concurrency: int,
        limits: Mapping[str, int],
        timeouts: Mapping[str, float],
        stop: asyncio.Event | None = None,
    ) -> None:
        self._send = send
        self._unstarted = unstarted
        self._concurrency = concurrency
        self._limits = limits
        self._timeouts = timeouts
        self._stop = stop or asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._admitted = 0
        self._waiting: dict[str, deque[tuple[int, Delivery]]] = {name: deque() for name in limits}
        self._busy = dict.fromkeys(limits, 0)
        self._tasks: set[asyncio.Task[None]] = set()
        self._coming: asyncio.Task[None] | None = None
        self._sending: dict[Key, asyncio.Task[Any]] = {}
        self._cuts: dict[Key, Cut] = {}
        # By channel, in the order in which they run out: all sends of one have the same time-out.
        self._deadlines: dict[str, deque[tuple[float, Key]]] = {name: deque() for name in limits}
        self._alarm: asyncio.TimerHandle | None = None
        self._error: BaseException | None = None
        self._changed = asyncio.Event()

    @property
    def running(self) -> int:
        """How many sends run or are about to: nothing but the event loop's turn is missing."""
        free = sum(
            min(len(waiting), self._limits[name] - self._busy[name])
            for name, waiting in self._waiting.items()
            if waiting
        )
        return min(self._concurrency, len(self._sending) + free)

    @property
    def waiting(self) -> int:
        """How many deliveries wait until another's send ends."""
        return self.aboard - self.running

    @property
    def aboard(self) -> int:
        """How many deliveries wait or are being sent."""
        return len(self._sending) + sum(map(len, self._waiting.values()))

    def waits(self, channel: str) -> bool:
        """Whether something of this channel waits, or might, until another's send ends."""
        waiting = len(self._waiting[channel])
        return waiting > self._limits[channel] - self._busy[channel] or (
            waiting > 0 and self.waiting > 0
        )

    def holds(self, channel: str) -> bool:
        """Whether something of this channel waits or is being sent."""
        return bool(self._waiting[channel] or self._busy[channel])

    def admit(self, deliveries: Sequence[Delivery]) -> None:
        """Takes deliveries in, to be started after those that wait already."""
        for delivery in deliveries:
            self._admitted += 1
            self._waiting[delivery.channel].append((self._admitted, delivery))
        self._advance()

    async def until(self, met: Callable[[], bool], *, within_s: float | None = None) -> None:
        """Returns once `met` says so, which is asked whenever a send has ended, or in time.

        Raises what a `send` raised.
        """
        ends = None if within_s is None else self._loop.time() + within_s
        alarm = None if ends is None else self._loop.call_at(ends, self._changed.set)
        try:
            while not (met() or (ends is not None and self._loop.time() >= ends)):
                self._changed.clear()
                await self._changed.wait()
                self.check()
        finally:
            if alarm is not None:
                alarm.cancel()
        self.check()

    def stir(self) -> None:
        """Lets whoever waits `until` something ask whether it is met."""
        self._changed.set()

    def check(self) -> None:
        """Raises what a `send` raised: none should."""
        if self._error is not None:
            raise self._error

    def withdraw(self, channels: Iterable[str] | None = None) -> list[Delivery]:
        """Takes out what has not been started, of these channels or of all, and returns it."""
        taken = []
        for name in self._waiting if channels is None else channels:
            taken += [delivery for _, delivery in self._waiting[name]]
            self._waiting[name].clear()
        self._changed.set()
        return taken

    def cut(self, why: Cut, deliveries: Collection[Delivery] | None = None) -> None:
        """Cancels sends that run, these or all; `cut_by` tells their handler why."""
        wanted = None if deliveries is None else {(one.id, one.attempt) for one in deliveries}
        for key, task in self._sending.items():
            if wanted is None or key in wanted:
                self._cut(key, task, why)

    def cut_by(self, delivery: Delivery) -> Cut | None:
        """Why the send of a delivery was cancelled; None if we did not cancel it."""
        return self._cuts.get((delivery.id, delivery.attempt))

    async def abandon(self) -> None:
        """Cancels every send and returns when all have ended."""
        self.withdraw()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._alarm is not None:
            self._alarm.cancel()

    def _cut(self, key: Key, task: asyncio.Task[Any], why: Cut) -> None:
        if self._cuts.get(key, Cut.LATE) is Cut.LATE and self._cuts.get(key) is not why:
            self._cuts[key] = why
            task.cancel()

    def _next(self) -> str | None:
        """The channel whose turn it is, if the limits and what waits allow another start."""
        first, chosen = 0, None
        if self._stop.is_set() or self._error is not None:
            return None
        if len(self._sending) < self._concurrency:
            for name, waiting in self._waiting.items():
                if (
                    waiting
                    and self._busy[name] < self._limits[name]
                    and (chosen is None or waiting[0][0] < first)
                ):
                    first, chosen = waiting[0][0], name
        return chosen

    def _advance(self) -> None:
        """Sees to it that somebody comes for what may be started."""
        if self._coming is None and self._next() is not None:
            self._coming = self._loop.create_task(self._carry_on())
            self._tasks.add(self._coming)
            self._coming.add_done_callback(self._ended)

    async def _carry_on(self) -> None:
        """Carries one delivery after the other, until there is none that may be started."""
        task = self._coming
        self._coming = None
        yielded = self._loop.time()
        while task is not None and (channel := self._next()) is not None:
            delivery = self._waiting[channel].popleft()[1]
            key = (delivery.id, delivery.attempt)
            now = self._note_start(channel, key, task)
            self._advance()
            try:
                await self._send(delivery)
            except asyncio.CancelledError:
                self._unstarted(delivery)
                raise
            finally:
                self._busy[channel] -= 1
                del self._sending[key]
                cut = self._cuts.pop(key, None)
                self._changed.set()
            if cut is not None:
                return
            if now - yielded > LONGEST_STEP_S:
                await asyncio.sleep(0)
                yielded = self._loop.time()

    def _note_start(self, channel: str, key: Key, task: asyncio.Task[Any]) -> float:
        now = self._loop.time()
        self._busy[channel] += 1
        self._sending[key] = task
        deadlines = self._deadlines[channel]
        while deadlines and deadlines[0][1] not in self._sending:
            deadlines.popleft()
        deadlines.append((now + self._timeouts[channel], key))
        if self._alarm is None:
            self._set_alarm()
        return now

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task is self._coming:  # it was cancelled before it came
            self._coming = None
        if not task.cancelled() and (error := task.exception()) is not None:
            self._error = error
        self._advance()
        self._changed.set()

    def _set_alarm(self) -> None:
        """For the first time-out among the sends that still run."""
        firsts = []
        for deadlines in self._deadlines.values():
            while deadlines and deadlines[0][1] not in self._sending:
                deadlines.popleft()
            if deadlines:
                firsts.append(deadlines[0][0])
        self._alarm = self._loop.call_at(min(firsts), self._ring) if firsts else None

    def _ring(self) -> None:
        """Cuts off what has run for too long."""
        now = self._loop.time()
        for deadlines in self._deadlines.values():
            while deadlines and deadlines[0][0] <= now:
                key = deadlines.popleft()[1]
                if (task := self._sending.get(key)) is not None:
                    self._cut(key, task, Cut.LATE)
        self._set_alarm()
