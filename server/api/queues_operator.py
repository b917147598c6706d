"""What operators do with the queues on Redis: look at jobs, move them, pause, limit."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import Query, Response
from pydantic import BaseModel, ConfigDict, Field

from server.api.fields import Whole
from server.api.operators import operators_router
from server.api.queue_documents import (
    QueueFigures,
    QueueJob,
    QueueJobs,
    QueueStep,
    ShownJob,
    StuckJob,
    StuckJobs,
)
from server.api.queue_names import PATTERN, JobId, Opened
from server.problems import ProblemError, described
from server.queue_actions import JOB_ACTIONS, JobAction, QueueAction, act_on_job, act_on_queue, bulk
from server.redisq import (
    Filter,
    InvalidCursorError,
    Queue,
    jobs_page,
    look_at,
    reason_of,
    row_of,
    stuck,
)
from server.redisq.model import State
from server.redisq.reasons import MENDS

router = operators_router("/api/queues")
router.tags = ["queues"]

CURSOR = r"^-?[0-9.e+]{1,40}:[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$"
Task = Annotated[str | None, Query(pattern=PATTERN, description="of this task only")]
Operation = Literal["retry", "promote", "cancel", "delete"]
DeadReason = Literal["exhausted", "refused", "lost", "no-handler", "cancelled"]

_missing = described(HTTPStatus.NOT_FOUND)
_unreadable = described(HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND)
_moving = described(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)


class JobMoved(BaseModel):
    """What was done to a job. A running one is only asked to end: its next heartbeat says so."""

    id: str
    outcome: Literal["ok", "asked"]


class JobsFilter(BaseModel):
    """Which jobs are meant."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"state": "dead", "reason": "exhausted"}]},
    )

    state: State
    task: str | None = Field(None, pattern=PATTERN)
    reason: DeadReason | None = Field(None, description="why they are dead")
    cursor: str | None = Field(
        None, pattern=CURSOR, description="`cursor` of the step before; without it from the first"
    )


class Rate(BaseModel):
    """How many jobs may start in how long, evenly; after a rest as many at once."""

    model_config = ConfigDict(extra="forbid")

    count: Whole = Field(ge=1, le=1_000_000)
    seconds: Whole = Field(ge=1, le=86_400)


class WantedLimits(BaseModel):
    """What the queue is to allow; null: everything."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"concurrency": 4, "rate": {"count": 100, "seconds": 60}}]},
    )

    concurrency: Annotated[Whole, Field(ge=1, le=1_000_000)] | None = None
    rate: Rate | None = None


@router.get("/{name}/jobs", summary="Jobs of one state, page by page", responses=_missing)
async def list_jobs(  # noqa: PLR0913, PLR0917 - each is a part of the query string
    queue: Opened,
    response: Response,
    state: Annotated[State, Query(description="where they are")],
    task: Task = None,
    reason: Annotated[DeadReason | None, Query(description="why they are dead")] = None,
    cursor: Annotated[str | None, Query(pattern=CURSOR, description="of the page before")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> QueueJobs:
    """What waits in the order in which it runs, what ended latest first.

    A filter goes through 500 jobs for a page at most, so a page may hold fewer and still lead on.
    """
    response.headers["Cache-Control"] = "no-store"
    only = Filter(task=task, reason=reason)
    try:
        page = await jobs_page(queue, state, cursor=cursor, limit=limit, only=only)
    except InvalidCursorError as error:
        raise _no_cursor(error) from error
    return QueueJobs.of(page)


@router.get("/{name}/stuck", summary="Jobs that do not move, and why", responses=_missing)
async def list_stuck(queue: Opened, response: Response) -> StuckJobs:
    """Of the first 20 that run, are ready and are scheduled: those that something holds up."""
    response.headers["Cache-Control"] = "no-store"
    found = await stuck(queue, await look_at(queue))
    return StuckJobs(
        jobs=[StuckJob(job=QueueJob.of(row), why=why, mend=MENDS[why]) for row, why in found]
    )


@router.get("/{name}/jobs/{job}", summary="One job", responses=_missing)
async def show_job(queue: Opened, response: Response, job: JobId) -> ShownJob:
    """With its payload, its result, the errors of its attempts, and why it is where it is."""
    response.headers["Cache-Control"] = "no-store"
    found, row = await queue.get(job), await row_of(queue, job)
    if found is None or row is None:
        raise _no_job(queue, job)
    return ShownJob.of(found, reason_of(row, await look_at(queue)))


@router.post("/{name}/jobs", summary="Move jobs by a filter", responses=_unreadable)
async def move_jobs(
    queue: Opened,
    wanted: JobsFilter,
    operation: Annotated[Operation, Query(description="what to do to each")],
) -> QueueStep:
    """One step over the list: 500 jobs are gone through and 100 moved at most.

    Call it again with the cursor of the answer for more. 422 where the state does not allow it.
    """
    only = Filter(task=wanted.task, reason=wanted.reason)
    try:
        step = await bulk(queue, operation, wanted.state, only=only, cursor=wanted.cursor)
    except InvalidCursorError as error:
        raise _no_cursor(error) from error
    except ValueError as error:
        raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, f"operation: {error}.") from error
    return QueueStep(looked=step.looked, matched=step.matched, moved=step.moved, cursor=step.cursor)


@router.post("/{name}/jobs/{job}/{action}", summary="Move one job", responses=_moving)
async def move_job(queue: Opened, job: JobId, action: JobAction) -> JobMoved:
    """Lets it run again, makes it due, cancels it, forgets it; 409 if its state does not allow it.

    `give-up` ends the lease of a job whose worker is gone.
    """
    said = await act_on_job(queue, action, job)
    if said == "missing":
        raise _no_job(queue, job)
    if said == "ok":
        return JobMoved(id=job, outcome="ok")
    if said == "asked":
        return JobMoved(id=job, outcome="asked")
    raise ProblemError(HTTPStatus.CONFLICT, f"Job {job}: {JOB_ACTIONS[action]}; it is {said}.")


@router.post("/{name}/pause", summary="Pause a queue", responses=_missing)
async def pause(queue: Opened) -> QueueFigures:
    """Nobody claims any more; what runs goes on."""
    return await _moved(queue, "pause")


@router.post("/{name}/resume", summary="Resume a queue", responses=_missing)
async def resume(queue: Opened) -> QueueFigures:
    """Ends the pause, and wakes a worker."""
    return await _moved(queue, "resume")


@router.post("/{name}/bring-back", summary="Bring back what was lost", responses=_missing)
async def bring_back(queue: Opened) -> QueueFigures:
    """What each worker does in each turn, for a queue without one.

    What is due waits again, and so does what a worker vanished with; up to 100 of each.
    """
    return await _moved(queue, "bring-back")


@router.put("/{name}/limits", summary="Limit a queue while it works", responses=_unreadable)
async def limit_queue(queue: Opened, wanted: WantedLimits) -> QueueFigures:
    """At most so many jobs at a time on all workers together, and at most so many in a time."""
    rate = wanted.rate
    await queue.configure(
        {
            "concurrency": wanted.concurrency,
            "rate_count": rate.count if rate else None,
            "rate_ms": rate.seconds * 1000 if rate else None,
        }
    )
    return QueueFigures.of(await look_at(queue))


async def _moved(queue: Queue, action: QueueAction) -> QueueFigures:
    await act_on_queue(queue, action)
    return QueueFigures.of(await look_at(queue))


def _no_job(queue: Queue, job: str) -> ProblemError:
    return ProblemError(HTTPStatus.NOT_FOUND, f"There is no job {job} in {queue.name}.")


def _no_cursor(error: Exception) -> ProblemError:
    return ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, f"cursor: {error}.")
