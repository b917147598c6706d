"""A real PostgreSQL for every test that asks for it, and a database of its own for each.

Tests of the outbox's statements run twice, directly and through a pooler in transaction mode. With
WORKERS_TEST_POOLER=1 every test that has a database runs through the pooler, and only so.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from server.embedded import embedded_postgres
from server.jobs.statements import migrate_jobs
from tests.pooler import pooler

TEMPLATE = "migrated"
BOTH_WAYS = {
    "test_claim",
    "test_depth",
    "test_drain",
    "test_enqueue",
    "test_exchange",
    "test_fence",
    "test_lease",
    "test_operations",
    "test_settle",
    "test_turn",
    "test_worker",
}
"""The files that a usual run takes through the pooler as well, chosen by what is in them."""


LONGEST = (
    "test_boot",
    "test_page_pool",
    "test_three_places",
    "test_chaos",
    "test_page_threads",
    "test_page_reading",
    "test_pool_mutations",
    "test_serve",
    "test_model",
    "test_page_without",
    "test_boot_tasks",
    "test_work",
    "test_page_queue",
    "test_schemathesis",
    "test_pool_python",
    "test_page_lab",
    "test_dashboard",
    "test_serve_queue",
    "test_page_jobs",
    "test_jobs_api",
    "test_lab",
    "test_page_languages",
    "test_keeper",
    "test_commands",
    "test_setup",
    "test_restart",
    "test_large_table",
)
"""The files that take longest. They come first, so that no process is left with one in the end."""

ADDRESS = re.compile(r"0x[0-9a-f]{8,}")
"""How an object that has no name of its own is written."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first, and refuse a test whose name holds a set or an address.

    The order of a set, and where an object lies, differ between the processes of one run.
    """
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.stem, len(places)))
    for item in items:
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        for value in parameters.values():
            if isinstance(value, (set, frozenset)) and str(value) in item.name:
                raise pytest.UsageError(f"give the set in its parameters an id: {item.nodeid}")
            if ADDRESS.search(str(value)) and ADDRESS.search(item.name):
                raise pytest.UsageError(f"give the object in its parameters an id: {item.nodeid}")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Says for each test with a database by which way it gets there."""
    if "way" not in metafunc.fixturenames:
        return
    if os.environ.get("WORKERS_TEST_POOLER"):
        metafunc.parametrize("way", ["pooler"], indirect=True, scope="session")
    elif metafunc.module.__name__.rpartition(".")[2] in BOTH_WAYS:
        metafunc.parametrize("way", ["direct", "pooler"], indirect=True, scope="session")


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The connection string of a PostgreSQL that runs for the whole session."""
    with (
        tempfile.TemporaryDirectory(prefix="workers-test-", dir=_memory()) as folder,
        embedded_postgres(Path(folder)) as conninfo,
    ):
        with psycopg.connect(conninfo, autocommit=True) as connection:
            # Making and dropping a database for each test is most of the time otherwise.
            connection.execute("alter system set fsync = off")
            connection.execute("alter system set full_page_writes = off")
            connection.execute("select pg_reload_conf()")
            connection.execute(f"create database {TEMPLATE}".encode())
        asyncio.run(_migrate(make_conninfo(conninfo, dbname=TEMPLATE)))
        yield conninfo


def _memory() -> str | None:
    """Where files lie in memory, with room enough: a database is made there in a tenth of the time.

    None where there is no such place; then they lie with all other temporary files.
    """
    place = Path("/dev/shm")  # noqa: S108 - a folder with a name of its own is made in it
    room = place.is_dir() and os.access(place, os.W_OK) and shutil.disk_usage(place).free
    return str(place) if room > 4 * 2**30 else None


async def _migrate(conninfo: str) -> None:
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        await migrate_jobs(connection)


_numbers = itertools.count(1)


class Place(NamedTuple):
    """A database: how it is reached directly, and how it is reached by the way of this test."""

    direct: str
    conninfo: str


@pytest.fixture(scope="session")
def pooled(postgres: str) -> Iterator[str]:
    """The connection string of that PostgreSQL through a pooler in transaction mode."""
    with pooler(postgres) as conninfo:
        yield conninfo


@pytest.fixture(scope="session")
def way(request: pytest.FixtureRequest, postgres: str) -> str:
    """The connection string by which tests reach the server."""
    through: bool = getattr(request, "param", "direct") == "pooler"
    return str(request.getfixturevalue("pooled")) if through else postgres


def _new_database(postgres: str, way: str, template: str) -> Iterator[Place]:
    name = f"test_{next(_numbers)}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"create database {name} template {template}".encode())
        yield Place(make_conninfo(postgres, dbname=name), make_conninfo(way, dbname=name))
        connection.execute(f"drop database {name} with (force)".encode())


@pytest.fixture
def place(postgres: str, way: str) -> Iterator[Place]:
    """A fresh database that has our schema."""
    yield from _new_database(postgres, way, TEMPLATE)


@pytest.fixture
def database(place: Place) -> str:
    """The connection string of a fresh database that has our schema."""
    return place.conninfo


@pytest.fixture
def direct(place: Place) -> str:
    """The connection string of the same database past any pooler: for LISTEN, say."""
    return place.direct


@pytest.fixture
def unpooled(place: Place) -> str:
    """The same for a test about the connection to the server itself, which a pooler would hold."""
    if place.direct != place.conninfo:
        pytest.skip("a pooler holds the connection that is to be broken")
    return place.direct


@pytest.fixture(scope="module")
def module_database(postgres: str, way: str) -> Iterator[str]:
    """The same for a whole file, whose tests do not mind what the others leave there."""
    for place in _new_database(postgres, way, TEMPLATE):
        yield place.conninfo


@pytest.fixture
def empty_database(postgres: str, way: str) -> Iterator[str]:
    """The connection string of a fresh database without anything in it."""
    for place in _new_database(postgres, way, "template0"):
        yield place.conninfo


Connect = Callable[[], AbstractAsyncContextManager[psycopg.AsyncConnection[Any]]]


@pytest.fixture
def connect(place: Place) -> Connect:
    """Opens connections in autocommit mode, each by an `async with` of its own.

    What psycopg prepares by itself would be unknown where a pooler stands between.
    """
    pooled = place.conninfo != place.direct
    return _opener(place.conninfo, {"prepare_threshold": None} if pooled else {})


@pytest.fixture
def connect_directly(place: Place) -> Connect:
    """The same past any pooler, for what a session remembers."""
    return _opener(place.direct, {})


def _opener(conninfo: str, options: dict[str, Any]) -> Connect:
    class Opened:
        async def __aenter__(self) -> psycopg.AsyncConnection[Any]:
            self.connection = await psycopg.AsyncConnection.connect(
                conninfo, autocommit=True, **options
            )
            return self.connection

        async def __aexit__(self, *_: object) -> None:
            await self.connection.close()

    return Opened
