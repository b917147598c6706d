"""A proxy in front of PostgreSQL that does what networks do: delay, cut, swallow, hold back."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from enum import StrEnum

READY = b"Z\x00\x00\x00\x05"
"""How PostgreSQL's answer to a statement ends (ReadyForQuery): by then it has committed."""

ANSWER, NOTHING = b"SELECT ", b"SELECT 0\0"
"""How the answers to a settle and to a claim end, which may come together; and an empty one."""

CHUNK = 65536


class Trick(StrEnum):
    """What is done to the next statement that a trap waits for."""

    LOSE_REQUEST = "lose-request"
    LOSE_REPLY = "lose-reply"
    SWALLOW_REPLY = "swallow-reply"
    HOLD_BACK = "hold-back"


@dataclass(eq=False, slots=True)
class Trap:
    """Waits for a statement whose text holds `text`, at one proxy or at several.

    `sprung` is set once it went by, at the proxy `at`. A reply that says that nothing was changed
    is not worth losing: then it goes on waiting.
    """

    trick: Trick
    text: bytes
    sprung: asyncio.Event = field(default_factory=asyncio.Event)
    at: Proxy | None = None

    def spring(self, proxy: Proxy) -> None:
        """It has happened here."""
        self.at = proxy
        self.sprung.set()


class _Link:
    def __init__(self, client: asyncio.StreamWriter, server: asyncio.StreamWriter) -> None:
        self.client = client
        self.server = server
        self.deaf = False
        self.losing: Trap | None = None

    def cut(self) -> None:
        for writer in (self.client, self.server):
            writer.transport.abort()


class Proxy:
    """Stands between one program and the socket of PostgreSQL at `path`; listens on `port`."""

    def __init__(self, path: str) -> None:
        self.port = 0
        self.delay_s = 0.0
        self.trap: Trap | None = None
        self._path = path
        self._links: set[_Link] = set()
        self._open = asyncio.Event()
        self._open.set()
        self._serving: set[asyncio.Task[None]] = set()

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Listens on a free port of the loopback until the end."""
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            server.close()
            self.let_through()
            while self._serving:
                self.cut()
                await asyncio.wait(self._serving)

    def cut(self) -> None:
        """Resets every connection that there is."""
        for link in list(self._links):
            link.cut()

    def swallow(self) -> None:
        """Makes every connection that there is half-open: no answer comes, and nothing closes."""
        for link in self._links:
            link.deaf = True

    def hold_back(self) -> None:
        """Holds back whatever is sent in both directions, on new connections as well."""
        self._open.clear()

    def let_through(self) -> None:
        """Delivers what was held back, in its order, and everything that follows."""
        self._open.set()

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving = asyncio.create_task(self._serve(reader, writer))
        self._serving.add(serving)
        serving.add_done_callback(self._serving.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            from_server, to_server = await asyncio.open_unix_connection(self._path)
        except OSError:
            writer.close()  # PostgreSQL is away
            return
        link = _Link(writer, to_server)
        self._links.add(link)
        pumps = [
            asyncio.create_task(self._requests(link, reader)),
            asyncio.create_task(self._replies(link, from_server)),
        ]
        try:
            await asyncio.wait(pumps)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            self._links.discard(link)
            link.cut()

    async def _requests(self, link: _Link, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(CHUNK):
                self._spring(link, data)
                await self._open.wait()
                link.server.write(data)
                await link.server.drain()
        link.server.close()

    def _spring(self, link: _Link, data: bytes) -> None:
        trap = self.trap
        if trap is None or trap.at is not None or trap.text not in data:
            return
        if trap.trick is Trick.LOSE_REPLY:
            link.losing = trap
            return
        if trap.trick is Trick.LOSE_REQUEST:
            link.cut()
        elif trap.trick is Trick.SWALLOW_REPLY:
            link.deaf = True
        else:
            self.hold_back()
        trap.spring(self)

    def _lost(self, link: _Link, data: bytes) -> bool:
        """Cuts the link if this is the end of the reply that is to be lost."""
        trap, link.losing = link.losing, None
        if trap is None or trap.at is not None or 0 < data.count(NOTHING) == data.count(ANSWER):
            return False
        if READY not in data[-len(READY) - 1 :]:
            link.losing = trap  # a long reply: its end is what matters
            return False
        trap.spring(self)
        link.cut()
        return True

    async def _replies(self, link: _Link, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(CHUNK):
                if link.losing is not None and self._lost(link, data):
                    return
                if self.delay_s:
                    await asyncio.sleep(self.delay_s)
                await self._open.wait()
                if not link.deaf:
                    link.client.write(data)
                    await link.client.drain()
        if not link.deaf:
            link.client.close()
