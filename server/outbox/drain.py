"""No worker at all: something calls, the queue is emptied, and the process ends.

The contract of `drain`:

- It may run beside workers and other drains; they share the rows without ever sharing one.
- It ends when nothing is due for its channels, and not before, unless its time runs out: then it
  claims nothing more, and what it has claimed is finished and settled. It never claims more than
  it can send in the time that is left, even if each send takes as long as it may.
- A channel that is parked because it failed too often in a row is not waited for either; its
  rows are left, and the report names it.
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
from .policy import affordable
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
    figures = turn.figures.values()
    if max_s is not None and affordable(turn.policy, figures, left_s=max_s) < 1:
        longest = max((one.send_timeout_s for one in figures), default=1.0)
        raise ConfigurationError(f"{max_s:g} s is less than the {longest:g} s that a send may take")
    ends = None if max_s is None else clock() + max_s
    done = Tally()
    finished = False
    while not stop.is_set():
        done.reaped += await reap(turn)
        limit = turn.policy.batch
        if ends is not None:
            limit = min(limit, affordable(turn.policy, figures, left_s=ends - clock()))
        if limit < 1:
            break
        tally = await turn.take(stop, limit=limit)
        done.add(tally)
        if tally.claimed == 0:
            finished = True
            break
    usable = turn.parking.usable()
    await turn.ask(lambda connection: housekeeping(connection, retention))
    left = await turn.ask(lambda connection: queue.left_over(connection, usable))
    parked = tuple(sorted(set(turn.channels) - set(usable)))
    return DrainReport(finished=finished and not parked, done=done, left=left, parked=parked)
