"""No worker at all: something calls, the queue is emptied, and the process ends.

The contract of `drain`:

- It may run beside workers and other drains; they share the rows without ever sharing one.
- It ends when nothing is due for its channels, and not before, unless its time runs out: then it
  claims nothing more, and what it has claimed is finished and settled. It never claims more than
  it can send in the time that is left, even if each send takes as long as it may.
- So a channel whose send may take longer than what is left is not claimed for any more, and the
  others are. What that leaves due is counted, and the report names the channel and its seconds.
- A channel that is parked because it failed too often in a row is not waited for either; its
  rows are left, and the report names it.
- It waits for nothing that falls due later and for nothing that others hold; it reports both.
- It reaps first, so that rows of a run that was killed come back without a worker, and keeps
  house last: depth, its history, retention (housekeeping.py).
- What an operator has paused is not due for it; the report tells how much that is.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Mapping

from . import queue
from .model import DrainReport, Tally
from .policy import ChannelPolicy, affordable
from .retention import Retention
from .turn import Turn
from .worker import keep_house, reap


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
    top. Setting `stop` ends it like time that runs out.
    """
    ends = math.inf if max_s is None else clock() + max_s
    figures: Mapping[str, ChannelPolicy] = turn.figures
    done = Tally()
    emptied = False
    while not stop.is_set():
        done.reaped += await reap(turn)
        left_s = ends - clock()
        figures = {name: one for name, one in figures.items() if one.send_timeout_s <= left_s}
        if turn.figures and not figures:
            break
        limit = turn.policy.batch
        if ends < math.inf:
            limit = min(limit, affordable(turn.policy, figures.values(), left_s=left_s))
        tally = await turn.take(stop, limit=limit, channels=figures)
        done.add(tally)
        if tally.claimed == 0:
            emptied = True
            break
    usable = turn.parking.usable()
    await keep_house(turn, retention)
    left = await turn.ask(lambda connection: queue.left_over(connection, usable))
    parked = tuple(sorted(set(turn.channels) - set(usable)))
    too_short_for = {
        name: turn.figures[name].send_timeout_s for name in left.due_channels if name not in figures
    }
    return DrainReport(
        finished=(emptied or not left.due) and not parked and not too_short_for,
        done=done,
        left=left,
        parked=parked,
        too_short_for=too_short_for,
    )
