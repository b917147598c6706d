"""Time limits of many runs by one timer, since nearly all of them end before their time."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType


class Deadlines:
    """The runs that have a deadline, and the timer that looks for those who have missed theirs."""

    def __init__(self) -> None:
        self._open: set[Deadline] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._looks_at = math.inf

    def add(self, deadline: Deadline) -> None:
        """Watch it."""
        self._open.add(deadline)
        if deadline.at < self._looks_at:
            self._set(deadline.at)

    def remove(self, deadline: Deadline) -> None:
        """Watch it no longer."""
        self._open.discard(deadline)

    def _set(self, at: float) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer, self._looks_at = None, at
        if at < math.inf:
            self._timer = asyncio.get_running_loop().call_at(at, self._look)

    def _look(self) -> None:
        now = asyncio.get_running_loop().time()
        for deadline in [deadline for deadline in self._open if deadline.at <= now]:
            self.remove(deadline)
            deadline.expire()
        self._set(min((deadline.at for deadline in self._open), default=math.inf))


class Deadline:
    """A time limit for what the current task does inside of it, as asyncio.timeout is one.

    Raises TimeoutError at its end when the limit has cancelled it.
    """

    __slots__ = ("_all", "_before", "_task", "at", "expired")

    def __init__(self, seconds: float, among: Deadlines) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("there is no task that could be limited")
        self.at = asyncio.get_running_loop().time() + seconds
        self.expired = False
        self._task = task
        self._before = task.cancelling()
        self._all = among

    def __enter__(self) -> None:
        self._all.add(self)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        _: TracebackType | None,
    ) -> None:
        self._all.remove(self)
        if not self.expired:
            return
        cancelled_by_others = self._task.uncancel() > self._before
        if kind is asyncio.CancelledError and not cancelled_by_others:
            raise TimeoutError from error

    def expire(self) -> None:
        """Cancel what goes on."""
        self.expired = True
        self._task.cancel()
