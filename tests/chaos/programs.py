"""What the worker and the producer of a chaos run share: their connections and their journal."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psycopg

from server.outbox import Connect
from tests.chaos.figures import STALL_S


class Journal:
    """Lines of JSON that are there to be read even if their writer is killed the moment after."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def write(self, what: str, **fields: object) -> None:
        """Appends one line."""
        line = json.dumps({"what": what, "at": time.time()} | fields) + "\n"
        os.write(self._file, line.encode())


def connector(conninfo: str, journal: Journal) -> Connect:
    """Lends fresh connections, and notes whenever an answer was waited for for long."""

    class Watched(psycopg.AsyncConnection[Any]):
        async def wait(self, *given: Any, **options: Any) -> Any:
            """Waits for whatever the driver waits for, the connection itself included."""
            began = time.time()
            try:
                return await super().wait(*given, **options)
            finally:
                if time.time() - began > STALL_S:
                    journal.write("stall", since=began)

    @contextlib.asynccontextmanager
    async def connect() -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        began = time.time()
        connection = await Watched.connect(
            conninfo, autocommit=True, prepare_threshold=None, connect_timeout=2
        )
        if time.time() - began > STALL_S:
            journal.write("stall", since=began)
        try:
            yield connection
        finally:
            await connection.close()

    return connect


async def note_stalls(journal: Journal) -> None:
    """Notes whenever this process did not get to run for a while, until cancelled."""
    while True:
        before = time.time()
        await asyncio.sleep(STALL_S / 3)
        if time.time() - before > STALL_S:
            journal.write("stall", since=before)
