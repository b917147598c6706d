"""No worker at all: something calls, the queue is emptied, and the process ends.

The contract of `drain`:

- It may run beside workers and other drains; they share the rows without ever sharing one.
- It ends when nothing is due for its channels, and not before, unless its time runs out: then it
  claims nothing more, and what it has claimed is finished and settled. It never claims more than
  it can send in the time that is left, even if each send takes as long as it may.
- It waits for nothing that falls due later and for nothing that others hold; it reports both.
- It reaps first, so that rows of a run that was killed come back without a worker, and keeps
  house last: depth, its history, retention (housekeeping.py).
- What an operator has paused is not due for it; the report tells how much that is.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from . import queue
from .errors import ConfigurationError
from .housekeeping import housekeeping
from .model import DrainReport, Tally
from .retention import Retention
from .turn import Turn
from .worker import reap


async def drain(
    turn: Turn,
    stop: asyncio.Event,
    *,
    max_s: float | None = None,
    retention: Retention | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> DrainReport:
    """Delivers what is due, and reports what it did, what it left and when that is due.

    `max_s` bounds the sending in seconds; the database's own time for the statements comes on
    top. Setting `stop` ends it like time that runs out. Raises ConfigurationError when `max_s`
    is too short for a single send.
    """
    policy = turn.policy
    if max_s is not None and max_s < policy.send_timeout_s:
        raise ConfigurationError(
            f"{max_s:g} s is less than the {policy.send_timeout_s:g} s that a send may take"
        )
    ends = None if max_s is None else clock() + max_s
    done = Tally()
    finished = False
    while not stop.is_set():
        done.reaped += await reap(turn)
        limit = policy.batch
        if ends is not None:
            rounds = int((ends - clock()) / policy.send_timeout_s)
            limit = min(limit, rounds * policy.concurrency)
        if limit < 1:
            break
        tally = await turn.take(stop, limit=limit)
        done.add(tally)
        if tally.claimed == 0:
            finished = True
            break
    async with turn.connect() as connection:
        await housekeeping(connection, retention)
        left = await queue.left_over(connection, turn.channels)
    return DrainReport(finished=finished, done=done, left=left)
