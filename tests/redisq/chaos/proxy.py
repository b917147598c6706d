"""A proxy in front of Valkey that does what networks do: lose replies, fall silent, be slow."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

CHUNK = 65_536


class Proxy:
    """Stands between programs and a server's socket.

    It listens on a socket of its own, or, with `listen` None, on a port that the system gives it.
    """

    def __init__(self, listen: Path | None, server: str) -> None:
        self.listen = listen
        self.port = 0
        self.delay_s = 0.0
        self.lose = 0
        """Replies to be lost from now on; each cuts its connection after the server has acted."""
        self.lose_with: bytes | None = None
        """Answers in which this occurs are lost, until it is None again."""
        self.lost = 0
        self.connections = 0
        """How many there have been."""
        self._gate = asyncio.Event()
        self._gate.set()
        self._held = asyncio.Event()
        self._these = b""
        self._server = server
        self._deaf = False
        self._links: set[asyncio.StreamWriter] = set()
        self._serving: set[asyncio.Task[None]] = set()

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Listen until the end."""
        if self.listen:
            server = await asyncio.start_unix_server(self._connected, self.listen)
        else:
            server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
            self.port = server.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            server.close()
            for task in self._serving:
                task.cancel()
            await asyncio.gather(*self._serving, return_exceptions=True)

    def fall_silent(self) -> None:
        """Leave every connection that there is half-open: nothing comes back, nothing closes."""
        self._deaf = True

    def hear_again(self) -> None:
        """Cut the half-open ones; new ones work."""
        self._deaf = False
        for writer in self._links:
            writer.transport.abort()

    def hold(self, these: bytes = b"") -> None:
        """Keep those of the server's answers back in which that occurs, and what comes after."""
        self._these = these
        self._held.clear()
        self._gate.clear()

    async def asked(self) -> None:
        """Return once the server has answered something that is held back."""
        await self._held.wait()

    def let_go(self) -> None:
        """Pass on what was held back, and hold nothing more."""
        self._gate.set()

    def turn_to(self, server: str) -> None:
        """Cut everything; what comes from now on goes to that server's socket."""
        self._server = server
        self.hear_again()

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.create_task(self._serve(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            answers, onward = await asyncio.open_unix_connection(self._server)
        except (OSError, asyncio.CancelledError):
            writer.transport.abort()
            return
        self._links.add(writer)
        there = asyncio.create_task(self._there(reader, onward))
        back = asyncio.create_task(self._back(answers, writer))
        try:
            await asyncio.wait((there, back), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._links.discard(writer)
            for end in (writer, onward):
                end.transport.abort()
            for task in (there, back):
                task.cancel()
            await asyncio.gather(there, back, return_exceptions=True)

    async def _there(self, reader: asyncio.StreamReader, onward: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(CHUNK):
                await asyncio.sleep(self.delay_s)
                onward.write(data)
                await onward.drain()

    async def _back(self, answers: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await answers.read(CHUNK):
                if self.lose or (self.lose_with and self.lose_with in data):
                    self.lose = max(0, self.lose - 1)
                    self.lost += 1
                    return
                if self._these in data:
                    self._held.set()
                    await self._gate.wait()
                if not self._deaf:
                    writer.write(data)
                    await writer.drain()
