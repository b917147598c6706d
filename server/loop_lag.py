"""How late this process's event loop comes."""

from __future__ import annotations

import asyncio

EVERY_S = 0.5


class LoopLag:
    """Remembers the latest that the loop came, in seconds, until somebody takes it."""

    def __init__(self) -> None:
        self._worst = 0.0

    async def watch(self) -> None:
        """Looks again and again, until cancelled."""
        clock = asyncio.get_running_loop().time
        while True:
            due = clock() + EVERY_S
            await asyncio.sleep(EVERY_S)
            self._worst = max(self._worst, clock() - due)

    def take(self) -> float:
        """The worst since the last call."""
        worst, self._worst = self._worst, 0.0
        return worst
