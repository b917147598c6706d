"""Which database is used: the one of DATABASE_URL, or one of our own for the time being."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, ClassVar, TypeVar

import psycopg
from psycopg import AsyncConnection
from psycopg.abc import PQGen
from psycopg_pool import AsyncConnectionPool

from server.embedded import embedded_postgres
from server.errors import DatabaseError
from server.outbox import MigrationError, Phase, migrate
from server.outbox.connect import answered, sturdy
from server.outbox.migrate import Migration
from server.settings import Settings

CHECK_S = 3.0
"""How long a connection of a pool may take to show that it lives."""

ANSWER_S = 15.0
"""How long a statement may take over a connection of a pool."""

Result = TypeVar("Result")

Migrating = Callable[[AsyncConnection[Any], Phase], Awaitable[list[Migration]]]


class BoundedConnection(AsyncConnection[Any]):
    """A connection on which a statement that takes longer than ANSWER_S is cancelled.

    Raises psycopg.OperationalError then. The time is kept on this side and the server is asked to
    cancel, since a `statement_timeout` set for the session does not pass through a pooler.
    """

    round_trips: ClassVar[int] = 0
    """How often connections of this process have asked the server something."""

    async def wait(
        self,
        gen: PQGen[Result],
        interval: float = 0.1,
        timeout: float | None = None,  # noqa: ASYNC109 - psycopg's signature
    ) -> Result:
        """What psycopg calls for each of its waits on the socket."""
        BoundedConnection.round_trips += 1
        limit = asyncio.timeout(ANSWER_S)
        try:
            async with limit:
                return await super().wait(gen, interval, timeout)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise psycopg.OperationalError(
                f"the database gave no answer within {ANSWER_S:g} s"
            ) from error


Pool = AsyncConnectionPool[BoundedConnection]


@contextlib.contextmanager
def database(settings: Settings) -> Iterator[str]:
    """Lends the connection string of the database; an embedded one runs until the end."""
    if settings.database_url is not None:
        yield settings.database_url
        return
    with embedded_postgres(settings.data_dir) as conninfo:
        yield conninfo


async def one_connection(conninfo: str, *, autocommit: bool = True) -> AsyncConnection[Any]:
    """A connection for a command, over which a statement may take as long as it takes.

    It prepares nothing, since a statement prepared in one transaction is unknown in the next where
    a pooler stands between. Raises psycopg.OperationalError.
    """
    return await AsyncConnection.connect(
        sturdy(conninfo), autocommit=autocommit, prepare_threshold=None
    )


async def bring_up_to_date(
    conninfo: str, phase: Phase = Phase.BEFORE, by: Migrating = migrate
) -> list[str]:
    """Applies the migrations that are missing and returns their names.

    `by` applies them: those of the outbox, unless somebody needs more. What has to wait until no
    older code runs is left out, unless `phase` says otherwise. Raises DatabaseError when the
    database cannot be reached or does not fit.
    """
    try:
        async with await one_connection(conninfo) as connection:
            return [f"{m.number:04d}_{m.name}" for m in await by(connection, phase)]
    except psycopg.OperationalError as error:
        raise DatabaseError(
            f"the database cannot be reached: {str(error).strip()}",
            hint="Check DATABASE_URL, or unset it to use a database of our own.",
        ) from error
    except (psycopg.errors.InsufficientPrivilege, psycopg.errors.ReadOnlySqlTransaction) as error:
        raise DatabaseError(
            f"the schema is missing or not up to date, and cannot be changed: {error}",
            hint="Run 'workers migrate' once as a role that may create schemas.",
        ) from error
    except MigrationError as error:
        raise DatabaseError(str(error)) from error


def new_pool(conninfo: str, *, least: int = 1, most: int = 4, wait_s: float = 3.0) -> Pool:
    """A pool that is not open yet. Connections are in autocommit mode and keep no session state.

    A statement may take ANSWER_S and a caller waits `wait_s` seconds for a connection; beyond that
    psycopg.OperationalError is raised, so that nothing hangs on a database that is away.
    """
    return AsyncConnectionPool(
        sturdy(conninfo),
        connection_class=BoundedConnection,
        open=False,
        min_size=least,
        max_size=most,
        timeout=wait_s,
        check=_check,
        kwargs={"autocommit": True, "prepare_threshold": None},
    )


async def _check(connection: BoundedConnection) -> None:
    """Raises psycopg.OperationalError for a connection that is dead, or of no use any more.

    That is one that only seems to live, and one to a server that has become a standby: it would
    be lent for as long as it lives, whoever is the primary by then.
    """
    asked = connection.execute("select pg_is_in_recovery()")
    row = await (await answered(connection, asked, within_s=CHECK_S)).fetchone()
    if row != (False,):
        raise psycopg.OperationalError("the server is a standby")


@contextlib.asynccontextmanager
async def open_pool(conninfo: str, *, least: int = 1, most: int = 4) -> AsyncIterator[Pool]:
    """A pool for the time of a command."""
    pool = new_pool(conninfo, least=least, most=most)
    await pool.open()
    try:
        yield pool
    finally:
        await pool.close()
