"""How late this process's event loop comes, measured from inside it.

It tells about the past: a loop that is blocked at this moment says so when it comes back. What has
to be known meanwhile, for the leases, the outbox measures from a thread (outbox/lag.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

EVERY_S = 0.5


async def watch_loop(tell: Callable[[float], None]) -> None:
    """Tells how late the loop came, in seconds, again and again until cancelled."""
    clock = asyncio.get_running_loop().time
    while True:
        due = clock() + EVERY_S
        await asyncio.sleep(EVERY_S)
        tell(max(0.0, clock() - due))


class WorstLag:
    """Remembers the latest that the loop came, in seconds, until somebody takes it."""

    def __init__(self) -> None:
        self._worst = 0.0

    def note(self, seconds: float) -> None:
        """Keeps it, if it is the worst so far."""
        self._worst = max(self._worst, seconds)

    def take(self) -> float:
        """The worst since the last call."""
        worst, self._worst = self._worst, 0.0
        return worst
