"""What every peer's program understands, in whichever language it is written.

It gets one JSON object as its only argument:

    {"act": …, "conninfo": a postgresql:// URI, "count": …, "batch": …, "concurrency": …, …}

and does one act:

    setup     makes its schema
    fill      enqueues jobs 0 … count - 1 in as large steps as it can; prints {"seconds": …}
    single    enqueues `count` jobs one by one, each in a transaction of its own; the same
    trickle   enqueues `count` jobs, `rate` a second, one by one; prints {"at": [second, …],
              "begun": [second, …]}: when each had been committed, and when its enqueueing began
    work      prints "ready" when it could take a job, waits for a line on stdin, works until stdin
              closes, and then prints {"seen": [[number, second], …]}: which jobs its handler was
              given and when

Seconds are those of the machine's steady clock, which is the same for every process. A job carries
its number and its handler does nothing but note it.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

CLOCK = time.monotonic


class Seen:
    """What a worker's handler was given, and when."""

    def __init__(self) -> None:
        self.jobs: list[tuple[int, float]] = []

    def note(self, number: int) -> None:
        """Notes a job."""
        self.jobs.append((number, CLOCK()))


def given() -> dict[str, Any]:
    """The argument of this program."""
    argument: dict[str, Any] = json.loads(sys.argv[1])
    return argument


def say(**fields: object) -> None:
    """Prints one answer."""
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()


async def started() -> None:
    """Says that this worker is ready, and returns when it may begin."""
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.readline)


async def ended() -> None:
    """Returns when this worker is to end."""
    await asyncio.to_thread(sys.stdin.read)


async def single(count: int, enqueue: Callable[[int], Awaitable[object]]) -> None:
    """The act of that name; `enqueue` adds the job of a number and commits."""
    began = CLOCK()
    for number in range(count):
        await enqueue(number)
    say(seconds=CLOCK() - began)


async def trickle(count: int, rate: float, enqueue: Callable[[int], Awaitable[object]]) -> None:
    """The act of that name."""
    at, begun = [], []
    began = CLOCK()
    for number in range(count):
        await asyncio.sleep(max(0.0, began + number / rate - CLOCK()))
        begun.append(CLOCK())
        await enqueue(number)
        at.append(CLOCK())
    say(at=at, begun=begun)
