"""Jobs of the Redis queue: a picture that is uploaded becomes one, and what becomes of it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated, Any, Literal

from fastapi import Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import ClientDisconnect

from server.api.operators import operators_router
from server.api.redis_connection import LentEngine, LentFiles
from server.engines import JobView
from server.problems import (
    FieldProblem,
    ProblemError,
    described,
    unprocessable,
)
from server.redisq import NewJob
from server.redisq.model import State
from server.tasks.files import NAME, FileGoneError, NoRoomError

router = operators_router("/api/queue")

PICTURES = "/api/queue/pictures"
JOB_ID = r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$"
BINARY = "application/octet-stream"


class JobAccepted(BaseModel):
    """A job that has been enqueued; Location says where it can be looked at."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"id": "01a22e6a-e340-76d6-a82a-b7f8d970f2ce", "task": "histogram"}]
        }
    )

    id: str
    task: str


class QueueJob(BaseModel):
    """A job as it is now."""

    id: str
    task: str
    state: State
    attempts: int = Field(description="runs that failed")
    max_attempts: int
    progress: float | None = Field(description="from 0 to 1, if its task says")
    result: Any = Field(description="what its task gave, once it is done")
    error: str | None = Field(description="how the last run failed, if one did")
    reason: str | None = Field(description="why it is dead")
    queued_at: datetime
    ended_at: datetime | None

    @classmethod
    def of(cls, job: JobView) -> QueueJob:
        """The job for the wire, without its payload."""
        return cls(
            id=job.id,
            task=job.task,
            state=job.state,
            attempts=job.attempts,
            max_attempts=job.max_attempts,
            progress=job.progress,
            result=job.result,
            error=job.error,
            reason=job.reason,
            queued_at=_moment(job.queued_ms),
            ended_at=None if job.ended_ms is None else _moment(job.ended_ms),
        )


@router.post(
    "/pictures",
    summary="Upload a picture for a job",
    status_code=HTTPStatus.ACCEPTED,
    responses={
        int(HTTPStatus.ACCEPTED): {"headers": {"Location": {"schema": {"type": "string"}}}},
        **described(HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    },
    openapi_extra={
        "requestBody": {
            "required": True,
            "description": "the file as it is: JPEG, PNG, GIF, WebP, TIFF or BMP",
            "content": {BINARY: {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
async def add_picture(  # noqa: PLR0913, PLR0917 - what it needs, and each part of the query
    request: Request,
    response: Response,
    engine: LentEngine,
    files: LentFiles,
    task: Annotated[
        Literal["histogram", "resize_image"], Query(description="what is done with it")
    ] = "histogram",
    max_side: Annotated[
        int | None, Query(ge=1, le=8192, description="its longest side after it was shrunk")
    ] = None,
) -> JobAccepted:
    """Decodes it, so that what is no picture is refused at once, keeps it, and enqueues a job.

    The job's result is that of the same task in a browser.
    """
    try:
        data = await request.body()
    except ClientDisconnect as error:
        raise ProblemError(HTTPStatus.BAD_REQUEST, "The body ended too early.") from error
    async with request.app.state.decoding:
        fault = await asyncio.to_thread(_fault, data)
    if fault is not None:
        return unprocessable([FieldProblem(field="body", message=fault)])  # type: ignore[return-value] # a response is one
    try:
        name = await asyncio.to_thread(files.put, data, "picture")
    except NoRoomError as error:
        raise ProblemError(
            HTTPStatus.SERVICE_UNAVAILABLE,
            "There is no room for another picture at the moment.",
            {"Retry-After": "600"},
        ) from error
    payload: dict[str, Any] = {"image": {"file": name}}
    if max_side is not None:
        payload["max_side"] = max_side
    id_ = await engine.enqueue(NewJob(task=task, payload=payload))
    response.headers["Location"] = f"/api/queue/jobs/{id_}"
    return JobAccepted(id=id_, task=task)


@router.get("/jobs/{id}", summary="One job", responses=described(HTTPStatus.NOT_FOUND))
async def show_job(
    engine: LentEngine,
    response: Response,
    id_: Annotated[str, Path(alias="id", pattern=JOB_ID)],
) -> QueueJob:
    """Its state, and its result once it is done. Ended jobs are forgotten after a while."""
    response.headers["Cache-Control"] = "no-store"
    job = await engine.get(id_)
    if job is None:
        raise ProblemError(HTTPStatus.NOT_FOUND, f"There is no job {id_}.")
    return QueueJob.of(job)


@router.get(
    "/files/{name}",
    summary="A file that a job has made, or was given",
    response_class=Response,
    responses={
        int(HTTPStatus.OK): {
            "content": {BINARY: {"schema": {"type": "string", "format": "binary"}}}
        },
        **described(HTTPStatus.NOT_FOUND),
    },
)
async def read_file(
    files: LentFiles,
    name: Annotated[str, Path(pattern=f"^{NAME.pattern}$")],
) -> Response:
    """Under the name that a job's result gives. Files are kept for a day, unless set otherwise."""
    try:
        data = await asyncio.to_thread(files.get, name)
    except FileGoneError as error:
        raise ProblemError(HTTPStatus.NOT_FOUND, f"There is no file {name} any longer.") from error
    # Whatever it is, a browser is to save it, not to show it.
    return Response(
        data,
        media_type=BINARY,
        headers={
            "Content-Disposition": f'attachment; filename="{name}"',
            "Cache-Control": "private, immutable, max-age=3600",
        },
    )


def _fault(data: bytes) -> str | None:
    """Why this is no picture that can be decoded here; None if it is one."""
    from handlers.decode import decode  # noqa: PLC0415 - Pillow, for whoever uploads something
    from handlers.errors import HandlerError  # noqa: PLC0415 - the same

    try:
        decode(data)
    except HandlerError as error:
        return f"{error.code}: {error}"
    return None


def _moment(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
