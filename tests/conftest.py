"""A real PostgreSQL for every test that asks for it, and a database of its own for each."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from server.embedded import embedded_postgres
from server.outbox import migrate

TEMPLATE = "migrated"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a test whose name holds a set: its order differs between the processes of one run."""
    for item in items:
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        for value in parameters.values():
            if isinstance(value, (set, frozenset)) and str(value) in item.name:
                raise pytest.UsageError(f"give the set in its parameters an id: {item.nodeid}")


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The connection string of a PostgreSQL that runs for the whole session."""
    folder = tmp_path_factory.mktemp("data")
    with embedded_postgres(folder) as conninfo:
        with psycopg.connect(conninfo, autocommit=True) as connection:
            # Making and dropping a database for each test is most of the time otherwise.
            connection.execute("alter system set fsync = off")
            connection.execute("alter system set full_page_writes = off")
            connection.execute("select pg_reload_conf()")
            connection.execute(f"create database {TEMPLATE}".encode())
        asyncio.run(_migrate(make_conninfo(conninfo, dbname=TEMPLATE)))
        yield conninfo


async def _migrate(conninfo: str) -> None:
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        await migrate(connection)


_numbers = itertools.count(1)


def _new_database(postgres: str, template: str) -> Iterator[str]:
    name = f"test_{next(_numbers)}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"create database {name} template {template}".encode())
        yield make_conninfo(postgres, dbname=name)
        connection.execute(f"drop database {name} with (force)".encode())


@pytest.fixture
def database(postgres: str) -> Iterator[str]:
    """The connection string of a fresh database that has our schema."""
    yield from _new_database(postgres, TEMPLATE)


@pytest.fixture(scope="module")
def module_database(postgres: str) -> Iterator[str]:
    """The same for a whole file, whose tests do not mind what the others leave there."""
    yield from _new_database(postgres, TEMPLATE)


@pytest.fixture
def empty_database(postgres: str) -> Iterator[str]:
    """The connection string of a fresh database without anything in it."""
    yield from _new_database(postgres, "template0")


Connect = Callable[[], AbstractAsyncContextManager[psycopg.AsyncConnection[Any]]]


@pytest.fixture
def connect(database: str) -> Connect:
    """Opens connections in autocommit mode, each by an `async with` of its own."""
    return _opener(database)


def _opener(conninfo: str) -> Connect:
    class Opened:
        async def __aenter__(self) -> psycopg.AsyncConnection[Any]:
            self.connection = await psycopg.AsyncConnection.connect(conninfo, autocommit=True)
            return self.connection

        async def __aexit__(self, *_: object) -> None:
            await self.connection.close()

    return Opened
