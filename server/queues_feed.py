"""The figures of all queues, read once for everybody who watches them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable

MOST_WATCHERS = 100
EVERY_S = 1.0

log = logging.getLogger(__name__)


class TooManyWatchersError(Exception):
    """As many watch as may."""


class QueuesFeed:
    """Reads the figures once a second while anybody watches, and tells them when they change.

    `read` gives what is told, and what of it has to differ for it to be told again. It raises
    nothing: a server that is away is a figure too.
    """

    def __init__(
        self,
        read: Callable[[], Awaitable[tuple[str, str]]],
        *,
        most: int = MOST_WATCHERS,
        every_s: float = EVERY_S,
    ) -> None:
        self.watchers = 0
        self._read = read
        self._most = most
        self._every_s = every_s
        self._told: str | None = None
        self._compared: str | None = None
        self._news = asyncio.Event()
        self._closed = False
        self._reader: asyncio.Task[None] | None = None

    @contextlib.asynccontextmanager
    async def watching(self) -> AsyncIterator[AsyncIterator[str]]:
        """Lends the figures as they are and as they change, whole each time, until it is closed.

        Who reads slowly misses some and gets the newest. Raises TooManyWatchersError.
        """
        if self.watchers >= self._most:
            raise TooManyWatchersError
        self.watchers += 1
        try:
            if self._reader is None and not self._closed:
                self._told = self._compared = None
                self._reader = asyncio.create_task(self._go_on())
                self._reader.add_done_callback(self._note_end)
            async with contextlib.aclosing(self._tell()) as told:
                yield told
        finally:
            self.watchers -= 1
            if not self.watchers:
                self._stop()

    def close(self) -> None:
        """Ends it for everybody, at once."""
        self._closed = True
        self._stop()
        self._wake()

    async def _tell(self) -> AsyncGenerator[str, None]:
        last: str | None = None
        reader = self._reader
        while not self._closed and self._reader is reader:
            news = self._news
            if self._told is not None and self._told is not last:
                last = self._told
                yield last
            else:
                await news.wait()

    async def _go_on(self) -> None:
        while True:
            told, compared = await self._read()
            if compared != self._compared:
                self._told, self._compared = told, compared
                self._wake()
            await asyncio.sleep(self._every_s)

    def _note_end(self, reader: asyncio.Task[None]) -> None:
        """Lets everybody go if it has failed: who comes back finds a new one."""
        if not reader.cancelled() and (error := reader.exception()) is not None:
            log.error("the feed failed: %s", error, extra={"action": "feed-failed"}, exc_info=error)
            self._reader = None
            self._wake()

    def _stop(self) -> None:
        if self._reader is not None:
            self._reader.cancel()
            self._reader = None

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()
