"""The zombie: frozen in the middle of a send, thawed while another sends the same delivery."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from server.outbox import NewDelivery, enqueue
from tests.chaos.figures import CHANNEL, PATIENCE_S
from tests.chaos.receiver import Receiver
from tests.chaos.stage import ROOT
from tests.functions import weaken_the_fence
from tests.server.program import clean_environment

Connect = Callable[[], AbstractAsyncContextManager[psycopg.AsyncConnection[Any]]]
ROW = "select status, attempts, holder from notifications.notification_deliveries"
RUN_OUT = b"update notifications.notification_deliveries set lease_expires_at = now()"
LATE = "select verdict from notifications.delivery_attempts where attempt = 1 and outcome <> 'lost'"

pytestmark = pytest.mark.timeout(300)


@contextlib.asynccontextmanager
async def _worker(
    database: str, folder: Path, receiver: Receiver, holder: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    given = {
        "conninfo": make_conninfo(database, application_name=holder),
        "port": receiver.port,
        "holder": holder,
        "journal": str(folder / f"{holder}.jsonl"),
        "patient": True,
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.chaos.worker", json.dumps(given)),
        cwd=ROOT,
        env=clean_environment(),
    )
    try:
        yield process
    finally:
        process.kill()
        await process.wait()


async def _until(connection: psycopg.AsyncConnection[Any], query: str) -> tuple[Any, ...]:
    """The row that a query finds, as soon as it finds one."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            row = await (await connection.execute(query.encode())).fetchone()
            if row is not None:
                return tuple(row)
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("weak", [False, True], ids=["fenced", "by-status-only"])
async def test_the_zombie(connect: Connect, database: str, tmp_path: Path, *, weak: bool) -> None:
    """What it writes is refused and the other's attempt stands; with a weak fence it would not."""
    receiver = Receiver()
    if weak:
        weaken_the_fence(database)
    async with contextlib.AsyncExitStack() as stack:
        connection = await stack.enter_async_context(connect())
        await stack.enter_async_context(receiver.listening())
        await enqueue(connection, [NewDelivery(CHANNEL, "somebody", {"kind": "ok"})])
        second = stack.enter_context(contextlib.ExitStack())
        second.enter_context(receiver.holding(lambda call: call.attempt == 2))
        called = receiver.next_call(lambda call: call.attempt == 1)
        called_again = receiver.next_call(lambda call: call.attempt == 2)
        with receiver.holding(lambda call: call.attempt == 1):
            a = await stack.enter_async_context(_worker(database, tmp_path, receiver, "a"))
            await asyncio.wait_for(called, PATIENCE_S)
            a.send_signal(signal.SIGSTOP)
            await connection.execute(RUN_OUT)
            await stack.enter_async_context(_worker(database, tmp_path, receiver, "b"))
            await asyncio.wait_for(called_again, PATIENCE_S)
            assert await _until(connection, ROW) == ("processing", 2, "b")
        a.send_signal(signal.SIGCONT)
        [verdict] = await _until(connection, LATE)
        now = await _until(connection, ROW)
        if weak:
            assert now == ("sent", 2, None), "b still sends it"
            return
        assert verdict == "refused"
        assert now == ("processing", 2, "b")
        second.close()
        assert await _until(connection, f"{ROW} where status <> 'processing'") == ("sent", 2, None)
    assert [(call.attempt, call.holder) for call in receiver.calls] == [(1, "a"), (2, "b")]
    assert receiver.effects.total() == 1
