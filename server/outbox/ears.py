"""Listens for notifications, so that a worker need not wait for its next poll."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from typing import Any

import psycopg

from .connect import AWAY, answered, sturdy
from .policy import growing_pause
from .queue import CHANNEL

log = logging.getLogger(__name__)


async def listen(
    conninfo: str,
    wake: asyncio.Event,
    *,
    channel: str = CHANNEL,
    check_s: float = 30.0,
    within_s: float = 5.0,
) -> None:
    """Sets `wake` at each notification on `channel`, until cancelled. Opens its own connection.

    A lost connection is opened again with growing pauses, and `wake` is set after that, since a
    notification may have been missed. One that only seems to be there is noticed too: after
    `check_s` seconds of silence the server is asked something, and has to answer within
    `within_s`.

    Behind a pooler in transaction mode nothing is ever heard. That is tried out when there is a
    pooler; if so it says so in the log and returns: the worker polls.
    """
    failures = 0
    while True:
        try:
            async with await _connection(conninfo) as connection:
                pooled = await _behind_pooler(connection, within_s)
                register = connection.execute(f"listen {channel}".encode())
                await answered(connection, register, within_s=within_s)
                failures = 0
                wake.set()
                if pooled and not await _hears(connection, conninfo, channel, within_s):
                    log.warning(
                        "there is a pooler on the way that keeps notifications to itself: "
                        "this worker polls; listen past the pooler, or not at all",
                        extra={"action": "listen-deaf"},
                    )
                    return
                log.info("listening", extra={"action": "listen"})
                while True:
                    async for _ in connection.notifies(timeout=check_s):
                        wake.set()
                    await answered(connection, connection.execute("select 1"), within_s=within_s)
        except AWAY as error:
            log.warning("not listening: %s", error, extra={"action": "listen-failed"})
        failures += 1
        await asyncio.sleep(growing_pause(failures, first_s=0.5, most_s=30.0))


async def _connection(conninfo: str) -> psycopg.AsyncConnection[Any]:
    return await psycopg.AsyncConnection.connect(
        sturdy(conninfo), autocommit=True, prepare_threshold=None
    )


async def _behind_pooler(connection: psycopg.AsyncConnection[Any], within_s: float) -> bool:
    """Whether somebody stands between: the process that answers is not the one that was named."""
    asked = connection.execute("select pg_backend_pid()")
    row = await (await answered(connection, asked, within_s=within_s)).fetchone()
    return row != (connection.info.backend_pid,)


async def _hears(
    connection: psycopg.AsyncConnection[Any], conninfo: str, channel: str, within_s: float
) -> bool:
    """Whether the connection hears, while it is idle, what another one says."""
    token = secrets.token_hex(8)
    async with await _connection(conninfo) as other:
        said = other.execute("select pg_notify(%s, %s)", (channel, token))
        await answered(other, said, within_s=within_s)
    async with contextlib.aclosing(connection.notifies(timeout=within_s)) as notifications:
        async for one in notifications:
            if one.payload == token:
                return True
    # Its server connection goes on to others; this mostly reaches the same one.
    away = connection.execute(f"unlisten {channel}".encode())
    await answered(connection, away, within_s=within_s)
    return False
