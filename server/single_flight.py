"""Many who ask the same at the same time are answered by one query."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

Answer = TypeVar("Answer")


class SingleFlight(Generic[Answer]):
    """Runs `fetch` once at a time, for everybody who is waiting.

    Nobody gets an answer that was begun before they asked: whoever comes while one is under way
    shares the next one. So an answer holds whatever had been committed when it was asked for.
    """

    def __init__(self, fetch: Callable[[], Awaitable[Answer]]) -> None:
        self._fetch = fetch
        self._running: asyncio.Task[Answer] | None = None
        self._next: asyncio.Task[Answer] | None = None

    async def get(self) -> Answer:
        """The answer, or what `fetch` raised. Who is cancelled does not cancel it for others."""
        if self._next is None:
            self._next = asyncio.create_task(self._fly(self._running))
            self._next.add_done_callback(_look_at_failure)
        return await asyncio.shield(self._next)

    async def _fly(self, before: asyncio.Task[Answer] | None) -> Answer:
        if before is not None:
            await asyncio.wait([before])
        self._running, self._next = self._next, None
        return await self._fetch()


def _look_at_failure(task: asyncio.Task[Answer]) -> None:
    """Takes note of a failure for which everybody has stopped waiting."""
    if not task.cancelled():
        task.exception()
