"""What happens to deliveries, read once for everybody who watches over this server."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from server.database import Pool
from server.outbox import (
    CHANGES,
    Change,
    ChangePage,
    Cursor,
    QueueNow,
    cursor_now,
    listen,
    queue_now,
    read_changes,
    record_changes,
)
from server.outbox.connect import AWAY
from server.outbox.policy import growing_pause
from server.outbox.queue import Connection
from server.single_flight import SingleFlight

PAGE = 200
"""Changes that are read, and given out, at once."""

KEPT = 64
"""Pages behind which a watcher may fall. All watchers share them."""

MOST_WATCHERS = 100

RECORD_S = 60.0
"""For how long changes are written after the last sign of a server that is watched."""

RENEW_S = 20.0
POLL_S = 1.0
GATHER_S = 0.05
"""Pause between two looks, so that a busy queue is not asked at each of its changes."""

log = logging.getLogger(__name__)


class Reason(StrEnum):
    """Why a watcher begins anew: it has only come, or where it was cannot be told any more."""

    START = "start"
    TOO_OLD = "too-old"
    UNREADABLE = "unreadable"


class TooManyWatchersError(Exception):
    """As many watch as may."""


@dataclass(frozen=True, slots=True)
class Reset:
    """The queue as it is; what was known before does not count. Changes follow `now.cursor`."""

    reason: Reason
    now: QueueNow

    @property
    def cursor(self) -> Cursor:
        """Where its changes follow."""
        return self.now.cursor


@dataclass(frozen=True, slots=True)
class News:
    """Changes in order, as they are to be sent, and the cursor after them."""

    data: str
    cursor: Cursor


@dataclass(frozen=True, slots=True)
class _Published:
    changes: Sequence[Change]
    data: str
    cursor: Cursor


class Feed:
    """Reads the changes while anybody watches, and has them written as long.

    When nobody does it asks the database nothing. `encode` makes what is sent of changes.
    Watchers share the last `kept` pages; one that falls behind them is let go, and comes back
    with its cursor. `conninfo` is where notifications are heard; without one it polls. Who
    sets `told` hears how many watch, whenever that changes.
    """

    def __init__(
        self,
        pool: Pool,
        conninfo: str | None,
        encode: Callable[[Sequence[Change]], str],
        *,
        most: int = MOST_WATCHERS,
        kept: int = KEPT,
    ) -> None:
        self.watchers = 0
        self.told: Callable[[int], None] = lambda _: None
        self._pool = pool
        self._conninfo = conninfo
        self._encode = encode
        self._most = most
        # None stands for "begin anew": changes are missing.
        self._pages: deque[_Published | None] = deque(maxlen=kept)
        self._end = 0
        self._news = asyncio.Event()
        self._closed = False
        self._cursor: Cursor | None = None
        self._reader: asyncio.Task[None] | None = None
        # One that was cancelled takes a moment to end.
        self._readers: set[asyncio.Task[None]] = set()
        self._starting = asyncio.Lock()
        self._renew_at = 0.0
        self._now = SingleFlight(self._look_at_all)

    @contextlib.asynccontextmanager
    async def watching(
        self, cursor: Cursor | None, reason: Reason = Reason.START
    ) -> AsyncIterator[AsyncIterator[Reset | News]]:
        """Lends what has happened since `cursor`, and what happens from now on, in order.

        Without a cursor, or with one that is too old, it begins with a Reset. It ends when its
        reader is too slow, or the feed is closed. Raises TooManyWatchersError, and
        psycopg.OperationalError if the database is away.
        """
        if self.watchers >= self._most:
            raise TooManyWatchersError
        self._count(1)
        try:
            await self._start()
            # Before the first look, so that nothing lies between it and what is followed.
            position = self._end
            first = await self._begin(cursor, reason)
            async with contextlib.aclosing(self._tell(first, position)) as told:
                yield told
        finally:
            self._count(-1)
            if not self.watchers:
                self._stop()

    def _count(self, by: int) -> None:
        self.watchers += by
        self.told(self.watchers)

    def close(self) -> None:
        """Ends it for everybody, at once."""
        self._closed = True
        self._stop()
        self._wake()

    async def ended(self) -> None:
        """Returns once nothing of it uses the pool any more, after `close`."""
        await asyncio.gather(*self._readers, return_exceptions=True)

    async def _tell(
        self, first: Reset | ChangePage, position: int
    ) -> AsyncGenerator[Reset | News, None]:
        while True:
            if isinstance(first, Reset):
                yield first
                break
            if first.changes:
                yield News(self._encode(first.changes), first.cursor)
            if first.caught_up:
                break
            first = await self._begin(first.cursor, Reason.TOO_OLD)
        at = first.cursor
        async for published in self._follow(position):
            if published is None:
                anew = Reset(Reason.TOO_OLD, await self._now.get())
                at = anew.cursor
                yield anew
                continue
            fresh = [one for one in published.changes if not at.has(one.written_by, one.seq)]
            if fresh:
                at = at.led_to(published.cursor)
                whole = len(fresh) == len(published.changes)
                yield News(published.data if whole else self._encode(fresh), at)

    async def _follow(self, position: int) -> AsyncIterator[_Published | None]:
        """What is published from `position` on, until it is closed or that lies too far back."""
        while not self._closed:
            first = self._end - len(self._pages)
            if position < first:
                log.info("a watcher fell behind", extra={"action": "watcher-behind"})
                return
            if position < self._end:
                yield self._pages[position - first]
                position += 1
            else:
                await self._news.wait()

    async def _begin(self, cursor: Cursor | None, reason: Reason) -> Reset | ChangePage:
        if cursor is not None:
            async with self._pool.connection() as connection:
                page = await read_changes(connection, cursor, limit=PAGE)
            if page is not None:
                return page
            reason = Reason.TOO_OLD
        return Reset(reason, await self._now.get())

    async def _look_at_all(self) -> QueueNow:
        async with self._pool.connection() as connection:
            return await queue_now(connection)

    async def _start(self) -> None:
        async with self._starting:
            if self._reader is None and not self._closed:
                async with self._pool.connection() as connection:
                    await self._record(connection)
                    self._cursor = await cursor_now(connection)
                self._pages.clear()
                self._reader = asyncio.create_task(self._read())
                self._readers.add(self._reader)
                self._reader.add_done_callback(self._note_end)

    def _stop(self) -> None:
        if self._reader is not None:
            self._reader.cancel()
            self._reader = None

    def _note_end(self, reader: asyncio.Task[None]) -> None:
        """Lets everybody go if it has failed: who comes back finds a new one."""
        self._readers.discard(reader)
        if not reader.cancelled() and (error := reader.exception()) is not None:
            log.error("the feed failed: %s", error, extra={"action": "feed-failed"}, exc_info=error)
            self._reader = None
            self._pages.clear()
            self._end += 1
            self._wake()

    async def _read(self) -> None:
        """Looks whenever there may be something new, until cancelled."""
        wake = asyncio.Event()
        hearing = (
            None
            if self._conninfo is None
            else asyncio.create_task(listen(self._conninfo, wake, channel=CHANGES))
        )
        failures = 0
        try:
            while True:
                wake.clear()
                try:
                    await self._look()
                    failures = 0
                except AWAY as error:
                    failures += 1
                    log.warning(
                        "the database is away: %s", error, extra={"action": "database-away"}
                    )
                    await asyncio.sleep(growing_pause(failures, first_s=0.2, most_s=5.0))
                    continue
                await asyncio.sleep(GATHER_S)
                # Not wait_for, which can swallow a cancellation (Python 3.11).
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(POLL_S):
                        await wake.wait()
        finally:
            if hearing is not None:
                hearing.cancel()
                await asyncio.gather(hearing, return_exceptions=True)

    async def _look(self) -> None:
        """Publishes everything that is new."""
        async with self._pool.connection() as connection:
            if asyncio.get_running_loop().time() >= self._renew_at:
                await self._record(connection)
            while self._cursor is not None:
                page = await read_changes(connection, self._cursor, limit=PAGE)
                if page is None:
                    # Where it goes on comes first: whoever begins anew does so from later on.
                    self._cursor = await cursor_now(connection)
                    self._publish(None)
                    continue
                self._cursor = page.cursor
                if page.changes:
                    data = self._encode(page.changes)
                    self._publish(_Published(page.changes, data, page.cursor))
                if page.caught_up:
                    return

    async def _record(self, connection: Connection) -> None:
        await record_changes(connection, for_s=RECORD_S)
        self._renew_at = asyncio.get_running_loop().time() + RENEW_S

    def _publish(self, page: _Published | None) -> None:
        self._pages.append(page)
        self._end += 1
        self._wake()

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()
