"""What an operator does to many jobs at a time, and to those that no worker looks after."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .looking import ALL, Filter, jobs_page
from .scripts import script

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .model import State
    from .queue import Operation, Queue

LEASE_MS = 60_000
MOST_MOVED = 100
"""Jobs that one step moves at most."""

ALLOWED: Mapping[State, tuple[Operation, ...]] = {
    "ready": ("cancel", "delete"),
    "scheduled": ("promote", "cancel", "delete"),
    "active": ("cancel",),
    "done": ("retry", "delete"),
    "dead": ("retry", "delete"),
}
"""What can be done to a job, by its state."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one step over a list has done. `cursor` is where the next one begins; None at the end.

    Of `looked` jobs, `matched` were meant and `moved` allowed it.
    """

    looked: int
    matched: int
    moved: int
    cursor: str | None


async def operate_matching(
    queue: Queue, what: Operation, state: State, *, only: Filter = ALL, cursor: str | None = None
) -> Step:
    """Do to the jobs of a state, from `cursor` on, what Queue.operate does; up to 100 in a step.

    Called again and again with the cursor of the step before, it works through all that were there.
    Raises InvalidCursorError, ValueError where the state never allows it, and
    redis.exceptions.RedisError.
    """
    if what not in ALLOWED[state]:
        raise ValueError(f"{what} is not for jobs that are {state}")
    page = await jobs_page(queue, state, cursor=cursor, limit=MOST_MOVED, only=only)
    answers = await queue.operate(what, [row.id for row in page.rows])
    moved = sum(word in {"ok", "asked"} for word in answers.values())
    return Step(page.looked, len(page.rows), moved, page.cursor)


async def bring_back(queue: Queue) -> None:
    """Bring back what is due and whose lease has run out, up to 100 of each: a turn without hands.

    Every worker does this in each of its turns. Raises redis.exceptions.RedisError.
    """
    values = [f"operator-{uuid.uuid4().hex}", 1, 0, LEASE_MS, ",", 0, "", ""]
    await script("turn").run(queue.client, queue.base, values)


async def give_up(queue: Queue, ids: Sequence[str]) -> None:
    """End the leases of running jobs now, and bring them back; each counts as a lost worker.

    A worker that lives after all is told by its next heartbeat, and its outcome no longer counts.
    Raises redis.exceptions.RedisError.
    """
    if ids:
        seconds, micros = await queue.client.time()
        now = seconds * 1000 + micros // 1000
        # Shorter only: what has been given up or settled meanwhile is not there any more.
        await queue.client.zadd(f"{queue.base}:active", dict.fromkeys(ids, now), xx=True, lt=True)
    await bring_back(queue)
