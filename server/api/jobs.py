"""Jobs: which there are, what became of their runs, what it costs that they could run."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from server.access import may_change_state, may_wake_jobs
from server.api.connection import Lent
from server.jobs import store
from server.jobs.carrying import BEAT_S, LEASE_S
from server.jobs.errors import BusyError, UnknownJobError
from server.jobs.model import Claim, Outcome, Run, Waker
from server.jobs.registry import NAME
from server.jobs.schedule import next_due
from server.jobs.service import JobService
from server.problems import ProblemError, described

router = APIRouter(prefix="/api/jobs", tags=["jobs"])

Name = Annotated[
    str, Path(pattern=f"^{NAME.pattern}$", max_length=40, description="the job's name")
]
Number = Annotated[int, Path(ge=1, lt=1 << 63, description="the run's number")]


def _service(request: Request) -> JobService:
    service: JobService = request.app.state.jobs
    return service


Jobs = Annotated[JobService, Depends(_service)]

_faults = described(
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.NOT_FOUND,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.SERVICE_UNAVAILABLE,
)


class LastRun(BaseModel):
    """The latest run of a job, without what only operators may see."""

    run: int
    waker: Waker
    started_at: datetime
    ended_at: datetime | None
    outcome: Outcome
    cpu_s: float | None
    memory_bytes: int | None = Field(description="the most at one time")


class ShownJob(BaseModel):
    """A job, what wakes it, and when that is next."""

    name: str
    does: str
    triggers: list[str] = Field(description="cron lines with their zone, and intervals")
    next_due_at: datetime | None = Field(description="null: only somebody's wish wakes it")
    timeout_s: float
    catch_up: str = Field(description="what becomes of ticks that were missed")
    last_run: LastRun | None


class ShownJobs(BaseModel):
    """All jobs."""

    as_of: datetime
    waking: bool = Field(description="whether this server wakes jobs when they are due")
    lease_s: float = Field(description="a run of which nothing was heard for so long is lost")
    beat_s: float = Field(description="how often a run renews its lease")
    jobs: list[ShownJob]


class Runs(BaseModel):
    """Runs of a job, the latest first."""

    runs: list[Run]
    before: int | None = Field(description="`before` of the next page; null on the last one")


class ProcessUsed(BaseModel):
    """A process that exists at this moment, and what it uses."""

    pid: int
    memory_bytes: int = Field(description="resident, shared libraries included")
    cpu_s: float = Field(description="CPU time since its start, in seconds")


class JobProcessUsed(ProcessUsed):
    """A process that exists because a job runs."""

    job: str
    run: int


class JobsCost(BaseModel):
    """The jobs' side."""

    processes: list[JobProcessUsed]
    statements: int = Field(description="sent by what wakes them, since this server's start")


class WorkersCost(BaseModel):
    """The side of the workers that wait, on this machine."""

    processes: list[ProcessUsed]
    statements: int = Field(description="round trips to the database, of all workers ever")


class Cost(BaseModel):
    """What exists now and what has been asked so far: two answers give what a minute costs."""

    as_of: datetime
    jobs: JobsCost
    workers: WorkersCost


class RunBegun(BaseModel):
    """A run that has begun."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"job": "drain", "run": 7, "fence": 3, "started_at": "2026-05-04T12:00:00Z"}
            ]
        }
    )

    job: str
    run: int
    fence: int = Field(description="the job's count of its runs; it only grows")
    started_at: datetime

    @classmethod
    def of(cls, claim: Claim) -> RunBegun:
        """What is told of it."""
        return cls(job=claim.job, run=claim.run, fence=claim.fence, started_at=claim.started_at)


class CancelAsked(BaseModel):
    """A run that was asked to end."""

    run: int


@router.get("", summary="The jobs", responses=described(HTTPStatus.SERVICE_UNAVAILABLE))
async def list_jobs(jobs: Jobs, connection: Lent, response: Response) -> ShownJobs:
    """Each with what wakes it, when that is next, and its latest run."""
    response.headers["Cache-Control"] = "no-store"
    latest = await store.latest(connection, jobs.registry.names)
    now = datetime.now(UTC)
    return ShownJobs(
        as_of=now,
        waking=jobs.waking,
        lease_s=LEASE_S,
        beat_s=BEAT_S,
        jobs=[
            ShownJob(
                name=job.name,
                does=job.does,
                triggers=[str(trigger) for trigger in job.triggers],
                next_due_at=next_due(job.triggers, now) if jobs.waking else None,
                timeout_s=job.timeout_s,
                catch_up=str(job.catch_up),
                last_run=_last(latest.get(job.name)),
            )
            for job in jobs.registry
        ],
    )


def _last(run: Run | None) -> LastRun | None:
    if run is None:
        return None
    return LastRun(
        run=run.id,
        waker=run.waker,
        started_at=run.started_at,
        ended_at=run.ended_at,
        outcome=run.outcome,
        cpu_s=run.cpu_s,
        memory_bytes=run.memory_bytes,
    )


@router.get(
    "/cost",
    summary="What it costs that jobs could run, and that workers wait",
    responses=described(HTTPStatus.SERVICE_UNAVAILABLE),
)
async def read_cost(jobs: Jobs, response: Response) -> Cost:
    """Measured now. Between its runs a job has no process; a worker has one all the time."""
    response.headers["Cache-Control"] = "no-store"
    found = await jobs.cost.get()
    return Cost(
        as_of=datetime.now(UTC),
        jobs=JobsCost(
            processes=[
                JobProcessUsed(**asdict(used), job=one.job, run=one.run) for one, used in found.jobs
            ],
            statements=found.asked_by_jobs,
        ),
        workers=WorkersCost(
            processes=[ProcessUsed(**asdict(used)) for used in found.workers],
            statements=found.asked_by_workers,
        ),
    )


@router.get(
    "/{name}/runs",
    summary="Runs of a job",
    dependencies=[Depends(may_change_state)],
    responses=_faults,
)
async def list_runs(  # noqa: PLR0913, PLR0917 - each is a part of the request
    name: Name,
    jobs: Jobs,
    connection: Lent,
    response: Response,
    before: Annotated[
        int | None, Query(ge=1, lt=1 << 63, description="`before` of the page before")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 25,
) -> Runs:
    """The latest first: who or what woke it, for which tick, what came of it, what it used."""
    response.headers["Cache-Control"] = "no-store"
    _known(jobs, name)
    runs = await store.history(connection, job=name, before=before, limit=limit + 1)
    more = len(runs) > limit
    runs = runs[:limit]
    return Runs(runs=runs, before=runs[-1].id if more else None)


@router.post(
    "/{name}/runs",
    summary="Wake a job",
    status_code=HTTPStatus.ACCEPTED,
    responses=_faults | described(HTTPStatus.CONFLICT),
)
async def wake(
    request: Request,
    name: Name,
    jobs: Jobs,
    connection: Lent,
    with_token: Annotated[bool, Depends(may_wake_jobs)],
) -> RunBegun:
    """Begins a run in a process of its own. One runs at a time, on all servers: otherwise 409.

    For a platform's scheduler, which sends the jobs' token; and for the page's button.
    """
    waker = Waker.CALL if with_token else Waker.CLICK
    host = request.client.host if request.client else "unknown"
    try:
        return RunBegun.of(await jobs.wake(connection, name, waker, host))
    except UnknownJobError as error:
        raise _unknown(name) from error
    except BusyError as error:
        raise ProblemError(HTTPStatus.CONFLICT, f"{error}; let it end, or cancel it.") from error


@router.post(
    "/{name}/runs/{number:int}/cancel",
    summary="Cancel a run",
    dependencies=[Depends(may_change_state)],
    status_code=HTTPStatus.ACCEPTED,
    responses=_faults | described(HTTPStatus.CONFLICT),
)
async def cancel(
    request: Request, name: Name, number: Number, jobs: Jobs, connection: Lent
) -> CancelAsked:
    """It hears of it within seconds, on whichever server it runs; 409 if it does not run."""
    _known(jobs, name)
    host = request.client.host if request.client else "unknown"
    if await store.cancel(connection, name, number, by=host):
        return CancelAsked(run=number)
    found = await store.history(connection, job=name, run=number, limit=1)
    if not found:
        raise ProblemError(HTTPStatus.NOT_FOUND, f"{name} has no run {number}.")
    raise ProblemError(
        HTTPStatus.CONFLICT, f"Run {number} is {found[0].outcome}; only one that runs can end."
    )


def _known(jobs: JobService, name: str) -> None:
    if name not in jobs.registry:
        raise _unknown(name)


def _unknown(name: str) -> ProblemError:
    return ProblemError(HTTPStatus.NOT_FOUND, f"There is no job {name}.")
