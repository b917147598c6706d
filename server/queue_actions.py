"""What operators do to the queues on Redis; the API and the dashboard do the same, and log it."""

from __future__ import annotations

import logging
from typing import Literal

from server.redisq import (
    Filter,
    Queue,
    Step,
    bring_back,
    give_up,
    look_at,
    operate_matching,
    row_of,
)
from server.redisq import reason_of as why
from server.redisq.model import State
from server.redisq.queue import Operation, Setting

log = logging.getLogger(__name__)

JobAction = Literal["retry", "promote", "cancel", "delete", "give-up"]
QueueAction = Literal["pause", "resume", "bring-back", "unlimit", "unrate"]

JOB_ACTIONS: dict[JobAction, str] = {
    "retry": "only one that is done or dead can run again",
    "promote": "only a scheduled one can be made due",
    "cancel": "only one that has not ended can be cancelled",
    "delete": "only one that does not run can be deleted, and no other may have its key",
    "give-up": "only one whose worker is gone can be given up",
}
"""What each needs of the job, for whoever is refused."""


async def act_on_job(queue: Queue, action: JobAction, id_: str) -> str:
    """Does that to a job and returns how it went, as Queue.operate does: `ok`, or why not."""
    if action == "give-up":
        said = await _give_up(queue, id_)
    else:
        said = (await queue.operate(action, [id_]))[id_]
    log.info(
        "%s of job %s: %s",
        action,
        id_,
        said,
        extra={"action": "queue-operate", "queue": queue.name, "job": id_, "what": action},
    )
    return said


async def _give_up(queue: Queue, id_: str) -> str:
    row = await row_of(queue, id_)
    if row is None:
        return "missing"
    if why(row, await look_at(queue)) not in {"worker-gone", "lease-overdue"}:
        return row.state
    await give_up(queue, [id_])
    return "ok"


async def bulk(
    queue: Queue, what: Operation, state: State, *, only: Filter, cursor: str | None
) -> Step:
    """One step of `operate_matching`, which says what it may raise."""
    step = await operate_matching(queue, what, state, only=only, cursor=cursor)
    log.info(
        "%s of %d %s jobs",
        what,
        step.moved,
        state,
        extra={"action": "queue-operate", "queue": queue.name, "what": what, "moved": step.moved},
    )
    return step


async def act_on_queue(queue: Queue, action: QueueAction) -> None:
    """Does that to the whole queue. Raises redis.exceptions.RedisError."""
    lifted: dict[QueueAction, dict[Setting, int | None]] = {
        "unlimit": {"concurrency": None},
        "unrate": {"rate_count": None, "rate_ms": None},
    }
    match action:
        case "pause":
            await queue.pause()
        case "resume":
            await queue.resume()
        case "bring-back":
            await bring_back(queue)
        case _:
            await queue.configure(lifted[action])
    log.info(
        "%s of queue %s",
        action,
        queue.name,
        extra={"action": "queue-configure", "queue": queue.name, "what": action},
    )
