"""How late an event loop is, measured from outside, so that a blocked loop is seen while it is."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable


class LoopLag:
    """Seconds between asking a loop to do something and its doing it.

    `probe` is called by another thread; `seconds` and `worst` may be read by any.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._asked_at: float | None = None
        self._last = 0.0
        self._worst = 0.0

    def probe(self, loop: asyncio.AbstractEventLoop) -> None:
        """Asks the loop for a sign of life, unless it still owes one."""
        with self._lock:
            if self._asked_at is not None:
                return
            self._asked_at = self._clock()
        loop.call_soon_threadsafe(self._answer)

    @property
    def seconds(self) -> float:
        """How late the loop is now: the last answer's delay, or what the next one has by now."""
        with self._lock:
            return max(self._last, self._owed())

    @property
    def worst(self) -> float:
        """The longest that the loop was ever late."""
        with self._lock:
            return max(self._worst, self._owed())

    def _owed(self) -> float:
        return 0.0 if self._asked_at is None else self._clock() - self._asked_at

    def _answer(self) -> None:
        with self._lock:
            self._last = self._owed()
            self._worst = max(self._worst, self._last)
            self._asked_at = None
