"""Extends the leases of a worker from a thread, so that a blocked event loop does not lose them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import AsyncIterator
from typing import Any

import psycopg

from .connect import cut, sturdy
from .policy import growing_pause, renewal_due
from .queue import fences
from .statements import statement
from .turn import Turn

log = logging.getLogger(__name__)

LONGEST_TICK_S = 0.25
TICKS_A_LEASE = 20


@contextlib.asynccontextmanager
async def keeping_leases(conninfo: str, turn: Turn) -> AsyncIterator[None]:
    """Extends what the turn holds, and measures its loop's lag, for as long as the context lasts.

    It is meant to stand around everything else, so that extending ends last. Costs one connection
    of its own, opened when there is first something to extend. Code that blocks the whole
    interpreter (a C function that keeps the GIL) blocks this thread too.
    """
    keeper = _Keeper(conninfo, turn, asyncio.get_running_loop())
    keeper.start()
    try:
        yield
    finally:
        keeper.end()
        await asyncio.to_thread(keeper.join)


class _Keeper(threading.Thread):
    def __init__(self, conninfo: str, turn: Turn, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(name="lease-keeper", daemon=True)
        self._conninfo = sturdy(conninfo)
        self._turn = turn
        self._loop = loop
        self._over = threading.Event()
        self._connection: psycopg.Connection[Any] | None = None

    def end(self) -> None:
        """Lets the thread end, and what it waits for with it."""
        self._over.set()
        connection = self._connection
        if connection is not None:
            cut(connection)

    def run(self) -> None:
        """Looks after the leases, a few times in each, until told to end."""
        policy = self._turn.policy
        tick = min(LONGEST_TICK_S, policy.lease_s / TICKS_A_LEASE)
        failures = 0
        pause = tick
        while not self._over.wait(pause):
            pause = tick
            self._turn.lag.probe(self._loop)
            first_end = self._turn.leases.first_end()
            now = self._turn.clock()
            if first_end is None or not renewal_due(policy, now=now, lease_ends=first_end):
                continue
            try:
                self._extend()
                failures = 0
            except psycopg.Error as error:
                failures += 1
                pause = growing_pause(failures, first_s=tick, most_s=policy.lease_s / TICKS_A_LEASE)
                if not self._over.is_set():
                    log.warning(
                        "could not extend leases: %s", error, extra={"action": "extend-failed"}
                    )
                self._hang_up()
        self._hang_up()

    def _extend(self) -> None:
        turn = self._turn
        if self._connection is None or self._connection.closed:
            self._connection = psycopg.Connection.connect(
                self._conninfo, autocommit=True, prepare_threshold=None
            )
        asked = turn.leases.held()
        asked_at = turn.clock()
        within_s = min(turn.policy.statement_s, turn.policy.lease_s / 3)
        alarm = threading.Timer(within_s, cut, [self._connection])
        alarm.start()
        try:
            # One transaction, since a setting of a session does not survive a pooler.
            with self._connection.transaction():
                self._connection.execute(
                    "select set_config('statement_timeout', %s, true)", (f"{within_s * 1000:.0f}",)
                )
                cursor = self._connection.execute(
                    statement("extend"), {**fences(asked), "lease_s": turn.policy.lease_s}
                )
                kept = {int(number) for (number,) in cursor.fetchall()}
        finally:
            alarm.cancel()
        lost = turn.leases.renewed(asked, kept, asked_at + turn.policy.lease_s)
        if lost:
            with contextlib.suppress(RuntimeError):  # the loop has just been closed
                self._loop.call_soon_threadsafe(turn.lose, lost)

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
