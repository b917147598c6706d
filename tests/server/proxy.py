"""A small TCP proxy that can stop answering while its connections stay open."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from psycopg.conninfo import conninfo_to_dict, make_conninfo


class Proxy:
    """Stands before PostgreSQL, on TCP, and counts who comes."""

    def __init__(self, target: str) -> None:
        known = conninfo_to_dict(target)
        self._host = str(known["host"])
        self._port = int(known["port"] or 5432)
        self._target = target
        self._open = asyncio.Event()
        self._open.set()
        self.conninfo = ""
        self.connections = 0

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Proxy]:
        """Listens on a free port for as long as the context lasts."""
        self._pumps: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        self.conninfo = make_conninfo(self._target, host="127.0.0.1", port=port)
        try:
            yield self
        finally:
            server.close()
            for pump in self._pumps:
                pump.cancel()
            await asyncio.gather(*self._pumps, return_exceptions=True)

    def deafen(self) -> None:
        """From now on connections seem to live, and nothing is answered."""
        self._open.clear()

    def hear(self) -> None:
        """Passes on again, also what has come meanwhile."""
        self._open.set()

    def renew(self) -> None:
        """Lets connections that are opened from now on through, whatever the others are."""
        self._open = asyncio.Event()
        self._open.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        passing = self._open
        if self._host.startswith("/"):
            path = f"{self._host}/.s.PGSQL.{self._port}"
            upstream = await asyncio.open_unix_connection(path)
        else:
            upstream = await asyncio.open_connection(self._host, self._port)
        for source, sink in ((reader, upstream[1]), (upstream[0], writer)):
            pump = asyncio.create_task(self._pump(source, sink, passing))
            self._pumps.add(pump)
            pump.add_done_callback(self._pumps.discard)

    @staticmethod
    async def _pump(
        source: asyncio.StreamReader, sink: asyncio.StreamWriter, passing: asyncio.Event
    ) -> None:
        try:
            while data := await source.read(65536):
                await passing.wait()
                sink.write(data)
                await sink.drain()
        except OSError:
            pass
        finally:
            sink.close()
