"""Listens for notifications, so that a worker need not wait for its next poll."""

from __future__ import annotations

import asyncio
import logging

import psycopg

from .connect import AWAY, answered, sturdy
from .policy import growing_pause
from .queue import CHANNEL

log = logging.getLogger(__name__)


async def listen(
    conninfo: str, wake: asyncio.Event, *, check_s: float = 30.0, within_s: float = 5.0
) -> None:
    """Sets `wake` at each notification, until cancelled. Needs a connection of its own.

    A lost connection is opened again with growing pauses, and `wake` is set after that, since a
    notification may have been missed. One that only seems to be there is noticed too: after
    `check_s` seconds of silence the server is asked something, and has to answer within
    `within_s`. Behind a pooler in transaction mode nothing is ever heard; the worker polls.
    """
    failures = 0
    while True:
        try:
            async with await psycopg.AsyncConnection.connect(
                sturdy(conninfo), autocommit=True, prepare_threshold=None
            ) as connection:
                register = connection.execute(f"listen {CHANNEL}".encode())
                await answered(connection, register, within_s=within_s)
                failures = 0
                wake.set()
                log.info("listening", extra={"action": "listen"})
                while True:
                    async for _ in connection.notifies(timeout=check_s):
                        wake.set()
                    await answered(connection, connection.execute("select 1"), within_s=within_s)
        except AWAY as error:
            log.warning("not listening: %s", error, extra={"action": "listen-failed"})
        failures += 1
        await asyncio.sleep(growing_pause(failures, first_s=0.5, most_s=30.0))
