"""What these tests share: a connection, deliveries, a look at a row, and a server that listens."""

from __future__ import annotations

import asyncio
import gzip
import logging
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import brotli
import httpx
import psycopg
import pytest
import uvicorn
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import dict_row
from starlette.types import ASGIApp

from server.app import create_app
from server.outbox import Delivery, NewDelivery, claim, enqueue
from server.settings import Settings
from tests.conftest import Place

Connection = psycopg.AsyncConnection[Any]
NOWHERE = "host=127.0.0.1 port=1 connect_timeout=1"
"""A database that is away."""

TABLE = "notifications.notification_deliveries"


@pytest.fixture
async def connection(
    connect: Callable[[], AbstractAsyncContextManager[Connection]],
) -> AsyncIterator[Connection]:
    """One connection in autocommit mode."""
    async with connect() as opened:
        yield opened


@pytest.fixture
def emptied(postgres: str, module_database: str) -> Place:
    """The file's database without deliveries, changes and messages, for a test to begin with.

    A file that overrides `place` by it spares a database for each of its tests.
    """
    direct = make_conninfo(postgres, dbname=conninfo_to_dict(module_database)["dbname"])
    with psycopg.connect(direct, autocommit=True) as opened:
        opened.execute(
            f"truncate {TABLE}, notifications.page_messages, notifications.event_log,"
            " notifications.delivery_events".encode()
        )
        opened.execute("drop schema if exists lab cascade")
    return Place(direct, module_database)


@pytest.fixture
def root_logger() -> Iterator[logging.Logger]:
    """The root of all logs, which is afterwards as it was."""
    root = logging.getLogger()
    before = (root.handlers[:], root.level)
    yield root
    root.handlers[:] = before[0]
    root.setLevel(before[1])


class Rows:
    """Adds, claims and reads deliveries the short way."""

    async def add(self, connection: Connection, count: int = 1, **columns: Any) -> list[int]:
        """Enqueues deliveries for the page; `max_attempts` goes to enqueue, the rest to each."""
        most = columns.pop("max_attempts", 5)
        wanted = {"channel": "page", "recipient": "page", "payload": {"text": "x"}} | columns
        return await enqueue(connection, [NewDelivery(**wanted)] * count, max_attempts=most)

    async def take(
        self, connection: Connection, limit: int = 25, *, lease_s: float = 300, holder: str = "a"
    ) -> list[Delivery]:
        """Claims deliveries of the page."""
        return await claim(
            connection, holder=holder, channels=["page"], limit=limit, lease_s=lease_s
        )

    async def take_one(self, connection: Connection, **options: Any) -> Delivery:
        """Adds one delivery and claims it."""
        await self.add(connection)
        [delivery] = await self.take(connection, 1, **options)
        return delivery

    async def read(self, connection: Connection, number: int) -> dict[str, Any]:
        """The row of a delivery as it is now."""
        async with connection.cursor(row_factory=dict_row) as cursor:
            await cursor.execute(f"select * from {TABLE} where id = %s".encode(), (number,))
            row = await cursor.fetchone()
        assert row is not None
        return row

    async def expire(self, connection: Connection) -> None:
        """Lets every lease run out now."""
        await connection.execute(
            f"update {TABLE} set lease_expires_at = clock_timestamp() - interval '1 second'"
            " where status = 'processing'".encode()
        )

    async def make_due(self, connection: Connection) -> None:
        """Lets everything that waits fall due now."""
        await connection.execute(
            f"update {TABLE} set next_attempt_at = clock_timestamp() - interval '1 second'"
            " where status = 'pending'".encode()
        )


@pytest.fixture
def rows() -> Rows:
    """The short way to deliveries."""
    return Rows()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small site in the shape that the build gives it."""
    folder = tmp_path_factory.mktemp("served") / "site"
    script = b"export const answer = 42;\n" * 100
    files = {
        "index.html": b"<!doctype html><title>Seite</title>",
        "en/index.html": b"<!doctype html><title>Page</title>",
        "404.html": b"<!doctype html><title>Not here</title>",
        "favicon.svg": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        "site.json": b"{}",
        "assets/0123456789ab/page/main.js": script,
        "assets/0123456789ab/page/main.js.gz": gzip.compress(script),
        "assets/0123456789ab/page/main.js.br": brotli.compress(script),
        "assets/0123456789ab/page/style.css": b"body {}",
        "runtime/ba9876543210/pyodide.mjs": b"export {};",
        "runtime/ba9876543210/pyodide.asm.wasm": b"\0asm",
        "runtime/ba9876543210/python_stdlib.zip": b"PK",
        "runtime/ba9876543210/numpy.whl": b"PK",
        "runtime/ba9876543210/lock.json": b"{}",
    }
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


@asynccontextmanager
async def listening(app: ASGIApp) -> AsyncIterator[httpx.AsyncClient]:
    """A real server for an application, on a free port, and a client that talks to it."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, lifespan="on", log_config=None))
    serving = asyncio.create_task(server._serve([listener]))  # noqa: SLF001 - without its signals
    base = f"http://127.0.0.1:{listener.getsockname()[1]}"
    async with httpx.AsyncClient(base_url=base, timeout=60) as client:
        yield client
    server.should_exit = True
    await serving


@pytest.fixture(scope="module")
def settings(site: Path, module_database: str) -> Settings:
    """Settings that point to the file's site and database, whatever the environment says."""
    return Settings(site=site, DATABASE_URL=module_database, admin_token="s3cret")


@pytest.fixture
def impatient(settings: Settings) -> Settings:
    """The same, for a server whose database is NOWHERE: it waits only for a moment."""
    return settings.model_copy(update={"database_wait_s": 0.1})


@pytest.fixture(scope="module")
def address(settings: Settings, module_database: str) -> Iterator[str]:
    """Where the whole application listens, in a thread of its own, for a whole file."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(create_app(settings, module_database), lifespan="on", log_config=None)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=asyncio.run, args=[server._serve([listener])])  # noqa: SLF001
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    thread.join()


@pytest.fixture
async def client(address: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the whole application, which the tests of a file share."""
    async with httpx.AsyncClient(base_url=address, timeout=60) as opened:
        yield opened


@pytest.fixture
async def fresh_client(settings: Settings, database: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client of an application whose database is the test's own."""
    async with listening(create_app(settings, database)) as opened:
        yield opened
