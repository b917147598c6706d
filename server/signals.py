"""Turns signals into an orderly end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import AsyncIterator, Callable
from types import FrameType

log = logging.getLogger(__name__)

STOPPING = (signal.SIGINT, signal.SIGTERM)


def end_by_exception() -> None:
    """Lets SIGTERM unwind the program like Ctrl-C does, so that what was started is stopped."""

    def end(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, end)


@contextlib.asynccontextmanager
async def stop_on_signal(again: Callable[[], None] | None = None) -> AsyncIterator[asyncio.Event]:
    """Lends an event that SIGINT and SIGTERM set; `again` is called by each further one."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()

    def on_signal() -> None:
        if stop.is_set() and again is not None:
            again()
        stop.set()
        log.info("stopping", extra={"action": "stopping"})

    for number in STOPPING:
        loop.add_signal_handler(number, on_signal)
    try:
        yield stop
    finally:
        for number in STOPPING:
            loop.remove_signal_handler(number)
        end_by_exception()


async def closed_stdin(stop: asyncio.Event) -> None:
    """Sets `stop` when standard input closes: whoever started us has ended, however it did."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    try:
        while await reader.read(1024):
            pass
        stop.set()
    finally:
        transport.close()
