"""A proxy in front of Valkey that does what networks do: lose replies, fall silent, be slow."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

CHUNK = 65_536


class Proxy:
    """Stands between one program and the server's socket, on a socket of its own."""

    def __init__(self, listen: Path, server: Path) -> None:
        self.listen = listen
        self.delay_s = 0.0
        self.lose = 0
        """Replies to be lost from now on; each cuts its connection after the server has acted."""
        self._server = server
        self._deaf = False
        self._links: set[asyncio.StreamWriter] = set()
        self._serving: set[asyncio.Task[None]] = set()

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Listen until the end."""
        server = await asyncio.start_unix_server(self._connected, self.listen)
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

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            answers, onward = await asyncio.open_unix_connection(self._server)
        except OSError:
            writer.close()
            return
        self._links.add(writer)
        there = asyncio.create_task(self._there(reader, onward))
        back = asyncio.create_task(self._back(answers, writer))
        try:
            await asyncio.wait((there, back), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._links.discard(writer)
            for task in (there, back):
                task.cancel()
            await asyncio.gather(there, back, return_exceptions=True)
            for end in (writer, onward):
                end.transport.abort()

    async def _there(self, reader: asyncio.StreamReader, onward: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(CHUNK):
                await asyncio.sleep(self.delay_s)
                onward.write(data)
                await onward.drain()

    async def _back(self, answers: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await answers.read(CHUNK):
                if self.lose:
                    self.lose -= 1
                    return
                if not self._deaf:
                    writer.write(data)
                    await writer.drain()
