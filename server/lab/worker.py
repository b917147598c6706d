"""One process of the lab: `python -m server.lab.worker HOLDER worker`, or `… drain`.

A worker stays until it is told to go; a drain delivers what is due and ends, as a job would do it.

It knows the channel `lab` and no other, so nothing but lab rows can suffer from what is done to it.
It has no lease keeper: what a thawed worker writes too late is to be seen, and the keeper would
mostly see to it that it writes nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import sys
from enum import StrEnum

from server.database import database, open_pool
from server.lab.behaviour import CHANNEL
from server.lab.channel import LabChannel
from server.lab.figures import scaled
from server.outbox import Turn, Worker, drain, listen
from server.settings import Settings
from server.signals import closed_stdin, stop_on_signal
from server.terminal import said_clearly, settings_for

READY = b"ready\n"
SENDING = b"sending "
"""Goes before the number of sends that the worker is in the middle of."""
PR_SET_PDEATHSIG = 1


class Kind(StrEnum):
    """What a process of the lab is for: to stay, or to empty the queue once and end."""

    WORKER = "worker"
    DRAIN = "drain"


def die_with_parent() -> None:
    """Lets the kernel kill this process when its parent ends, however that ends (Linux).

    It would notice by its standard input as well, but not while it is frozen.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def tell_sending(sends: int) -> None:
    """Says on standard output how many sends it is in the middle of."""
    os.write(sys.stdout.fileno(), SENDING + b"%d\n" % sends)


async def work(settings: Settings, conninfo: str, holder: str, kind: Kind) -> None:
    """Works until SIGTERM, or until standard input closes; a drain, until nothing is due."""
    wake = asyncio.Event()
    policy = scaled(settings)
    async with open_pool(conninfo, most=3) as own, open_pool(conninfo) as for_channel:
        channel = LabChannel(
            for_channel.connection, policy, scale=settings.lab_time_scale, told=tell_sending
        )
        turn = Turn(own.connection, {CHANNEL: channel}, policy, holder=holder)
        async with stop_on_signal(turn.leave) as stop:
            beside = [asyncio.create_task(closed_stdin(stop))]
            hears_at = settings.listen_conninfo(conninfo)
            if hears_at is not None and kind is Kind.WORKER:
                beside.append(asyncio.create_task(listen(hears_at, wake)))
            try:
                os.write(sys.stdout.fileno(), READY)
                if kind is Kind.DRAIN:
                    await drain(turn, stop, retention=settings.retention())
                else:
                    await Worker(turn, wake=wake, retention=settings.retention()).run(stop)
            finally:
                for task in beside:
                    task.cancel()
                await asyncio.gather(*beside, return_exceptions=True)


def main() -> None:
    """Runs it by the settings of the environment."""
    die_with_parent()
    with said_clearly(), contextlib.ExitStack() as stack:
        settings = settings_for()
        conninfo = stack.enter_context(database(settings))
        asyncio.run(work(settings, conninfo, sys.argv[1], Kind(sys.argv[2])))


if __name__ == "__main__":
    main()
