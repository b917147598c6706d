"""How the outbox gets at a database, and how it gets away from one that does not answer."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

import psycopg
from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict, make_conninfo

Connect = Callable[[], AbstractAsyncContextManager[AsyncConnection[Any]]]
"""Lends a connection in autocommit mode, for example `pool.connection` of psycopg_pool."""

T = TypeVar("T")

AWAY = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.errors.ReadOnlySqlTransaction)
"""What is raised while a database is away, is restarted, or has become a standby."""

STURDY: dict[str, Any] = {
    "connect_timeout": 5,
    "keepalives": 1,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}
"""Connection parameters by which the kernel notices a peer that is gone, in about half a minute."""

PARTING_S = 1.0


def sturdy(conninfo: str) -> str:
    """The connection string with STURDY's parameters where it does not say otherwise."""
    return make_conninfo(conninfo, **(STURDY | conninfo_to_dict(conninfo)))


async def answered(connection: AsyncConnection[Any], work: Awaitable[T], *, within_s: float) -> T:
    """What `work` on the connection returns; it is cancelled and cut off if that takes too long.

    A database or a pooler may take requests and never answer, which no time-out of the server
    and no keepalive notices. Raises psycopg.OperationalError then. Cancelling ends it in the same
    way, within moments. The server is asked to cancel first: a statement that waits for a lock
    would otherwise keep its place in the server after its connection is gone.
    """
    task = asyncio.ensure_future(work)
    try:
        done, _ = await asyncio.wait({task}, timeout=within_s)
    except asyncio.CancelledError:
        await _part(connection, task)
        raise
    if not done:
        await _part(connection, task)
        raise psycopg.OperationalError(f"the database gave no answer within {within_s:g} s")
    return task.result()


async def bounded(
    connect: Connect,
    work: Callable[[AsyncConnection[Any]], Awaitable[T]],
    *,
    within_s: float,
) -> T:
    """Runs `work` on a connection of its own, for at most `within_s` seconds; see `answered`."""
    async with connect() as connection:
        return await answered(connection, work(connection), within_s=within_s)


def cut(connection: psycopg.Connection[Any] | AsyncConnection[Any]) -> None:
    """Shuts the connection's socket down, whoever waits for it: they see an end of the stream.

    The descriptor stays with the driver, which closes it itself; closing it under a waiting
    event loop could hit another connection that has been given the same number.
    """
    with contextlib.suppress(OSError, psycopg.OperationalError):
        wire = socket.socket(fileno=os.dup(connection.pgconn.socket))
        with wire:
            wire.shutdown(socket.SHUT_RDWR)


async def _part(connection: AsyncConnection[Any], task: asyncio.Future[Any]) -> None:
    """Ends the task, by asking the server first and by cutting the connection then."""
    task.add_done_callback(_disregard)
    try:
        with contextlib.suppress(psycopg.Error):
            await connection.cancel_safe(timeout=PARTING_S)
        await asyncio.wait({task}, timeout=PARTING_S)
    finally:  # also if this is cancelled once more
        if not task.done():
            cut(connection)
            await asyncio.wait({task}, timeout=PARTING_S)
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=PARTING_S)


def _disregard(task: asyncio.Future[Any]) -> None:
    """Nobody asks any more what it ended with."""
    if not task.cancelled():
        task.exception()
