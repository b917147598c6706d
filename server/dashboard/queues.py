"""The pages of the queues on Redis, and their forms."""

from __future__ import annotations

import json
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any, get_args

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, Field, ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from server.api.connection import Configured
from server.api.queue_names import JobId, Opened, queues_or_none
from server.api.queues_operator import CURSOR, DeadReason
from server.dashboard.notices import go_on_of, notice_of
from server.dashboard.outbox import depth_or_none
from server.dashboard.pages import PageRoute, back_to, form_of
from server.dashboard.rendering import page, words_of
from server.dashboard.time_line import time_line
from server.dashboard.visitor import let_change
from server.queue_actions import JobAction, QueueAction, act_on_job, act_on_queue, bulk
from server.redisq import (
    Filter,
    InvalidCursorError,
    jobs_page,
    look_at,
    reason_of,
    row_of,
    stuck,
)
from server.redisq.looking import STUCK_OF_EACH
from server.redisq.mending import ALLOWED
from server.redisq.model import State
from server.redisq.queue import Operation
from server.redisq.reasons import MENDS

router = APIRouter(route_class=PageRoute, include_in_schema=False, default_response_class=Response)
changing = [Depends(let_change)]

BASE = "/queues/redis"
BAR_PX = 60.0
Cursor = Annotated[str | None, Query(pattern=CURSOR)]


@router.get("/queues")
async def home(request: Request, settings: Configured) -> Response:
    """Every queue at a glance, and the outbox."""
    looks = await queues_or_none(request.app)
    away = None
    if looks is None:
        away = "error.noRedis" if request.app.state.redis is None else "error.redis"
    elif settings.queue_engine == "bullmq":
        away = "engine.bullmq"
    values = {"looks": looks or [], "away": away, "depth": await depth_or_none(request)}
    return page(request, "home.html", values)


@router.get(f"{BASE}/{{name}}")
async def show_queue(request: Request, queue: Opened) -> Response:
    """One queue: its figures, its last minutes, its workers, and what can be done to it."""
    look = await look_at(queue)
    tallest = max(1, *(one.done + one.failed for one in look.recent.minutes))
    bars = [
        _bar(number, one.done * BAR_PX / tallest, one.failed * BAR_PX / tallest)
        for number, one in enumerate(look.recent.minutes)
    ]
    values = {"look": look, "bars": bars, "tallest": tallest, "notice": _notice(request)}
    return page(request, "queue.html", values)


def _bar(number: int, done: float, failed: float) -> dict[str, str]:
    return {
        "x": str(number * 20 + 2),
        "done_y": f"{BAR_PX - done:.1f}",
        "done_height": f"{done:.1f}",
        "failed_y": f"{BAR_PX - done - failed:.1f}",
        "failed_height": f"{failed:.1f}",
    }


@router.get(f"{BASE}/{{name}}/stuck")
async def show_stuck(request: Request, queue: Opened) -> Response:
    """Why something does not move, each with what mends it."""
    look = await look_at(queue)
    values = {
        "look": look,
        "found": await stuck(queue, look),
        "most": STUCK_OF_EACH,
        "mends": MENDS,
        "notice": _notice(request),
    }
    return page(request, "stuck.html", values)


@router.get(f"{BASE}/{{name}}/jobs/{{state}}")
async def show_jobs(  # noqa: PLR0913, PLR0917 - each is a part of the query string
    request: Request,
    queue: Opened,
    state: State,
    task: str | None = None,
    reason: str | None = None,
    cursor: Cursor = None,
) -> Response:
    """Jobs of one state, a page, and what can be done to all of them."""
    only = _filter(task, reason)
    look = await look_at(queue)
    try:
        found = await jobs_page(queue, state, cursor=cursor, only=only)
    except InvalidCursorError as error:
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from error
    here = f"{BASE}/{queue.name}/jobs/{state}"
    values = {
        "look": look,
        "state": state,
        "page": found,
        "only": only,
        "cursor": cursor,
        "first": _address(request, here, only),
        "next": _address(request, here, only, found.cursor),
        "allowed": ALLOWED[state],
        "reasons": get_args(DeadReason),
        "tasks": sorted({task for worker in look.live for task in worker.tasks}),
        "reason_of": partial(reason_of, look=look),
        "notice": _notice(request),
        "go_on": go_on_of(request),
    }
    return page(request, "jobs.html", values)


@router.get(f"{BASE}/{{name}}/job/{{job}}")
async def show_job(request: Request, queue: Opened, job: JobId) -> Response:
    """One job: where it is and why, what has become of it, what it carries."""
    found, row, look = await queue.get(job), await row_of(queue, job), await look_at(queue)
    if found is None or row is None:
        raise HTTPException(HTTPStatus.NOT_FOUND)
    line = time_line(found, words_of(request))
    values = {
        "look": look,
        "job": found,
        "row": row,
        "reason": reason_of(row, look),
        "line": line,
        "told_last": any(entry.error == found.error for entry in line),
        "payload": _readable(found.payload),
        "result": None if found.result is None else _readable(found.result),
        "mends": MENDS,
        "allowed": ALLOWED[found.state],
        "notice": _notice(request),
    }
    return page(request, "job.html", values)


@router.post(f"{BASE}/{{name}}/do/{{action}}", dependencies=changing)
async def do_to_queue(request: Request, queue: Opened, action: QueueAction) -> Response:
    """Pauses, resumes and the like, and goes back."""
    fields = await form_of(request)
    await act_on_queue(queue, action)
    return back_to(request, _back(fields, queue.name, f"{BASE}/{queue.name}"), did=action)


class _Limits(BaseModel):
    concurrency: int | None = Field(None, ge=1, le=1_000_000)
    rate_count: int | None = Field(None, ge=1, le=1_000_000)
    rate_seconds: int | None = Field(None, ge=1, le=86_400)


@router.post(f"{BASE}/{{name}}/limits", dependencies=changing)
async def set_limits(request: Request, queue: Opened) -> Response:
    """Sets both limits; a field that is empty lifts its own."""
    try:
        wanted = _Limits.model_validate(await form_of(request))
        await queue.configure(
            {
                "concurrency": wanted.concurrency,
                "rate_count": wanted.rate_count,
                "rate_ms": wanted.rate_seconds and wanted.rate_seconds * 1000,
            }
        )
    except (ValidationError, ValueError) as error:
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, "limits") from error
    return back_to(request, f"{BASE}/{queue.name}", did="limits")


@router.post(f"{BASE}/{{name}}/job/{{job}}/{{action}}", dependencies=changing)
async def do_to_job(request: Request, queue: Opened, job: JobId, action: JobAction) -> Response:
    """Does that to one job and goes back to it, or to its list when it is gone."""
    fields = await form_of(request)
    row = await row_of(queue, job)
    said = await act_on_job(queue, action, job)
    if row is None or said == "missing":
        raise HTTPException(HTTPStatus.NOT_FOUND)
    own = f"{BASE}/{queue.name}/job/{job}"
    if action == "delete" and said == "ok":
        own = f"{BASE}/{queue.name}/jobs/{row.state}"
    return back_to(request, _back(fields, queue.name, own), did=action, said=said)


@router.post(f"{BASE}/{{name}}/jobs/{{state}}/{{action}}", dependencies=changing)
async def do_to_jobs(request: Request, queue: Opened, state: State, action: Operation) -> Response:
    """One step over the list, and back to it with how many there were and where it goes on."""
    fields = await form_of(request)
    only = _filter(fields.get("task"), fields.get("reason"))
    try:
        step = await bulk(queue, action, state, only=only, cursor=fields.get("cursor"))
    except ValueError as error:
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from error
    return back_to(
        request,
        f"{BASE}/{queue.name}/jobs/{state}",
        task=only.task,
        reason=only.reason,
        did=action,
        looked=step.looked,
        matched=step.matched,
        moved=step.moved,
        on=step.cursor,
    )


def _notice(request: Request) -> str | None:
    return notice_of(request, words_of(request))


def _filter(task: str | None, reason: str | None) -> Filter:
    return Filter(task=task or None, reason=reason if reason in get_args(DeadReason) else None)


def _address(request: Request, path: str, only: Filter, cursor: str | None = None) -> str:
    response = back_to(request, path, task=only.task, reason=only.reason, cursor=cursor)
    return response.headers["location"]


def _back(fields: dict[str, str], name: str, otherwise: str) -> str:
    """Where the form came from, if that is a page of this queue."""
    wanted = fields.get("back")
    here = {f"{BASE}/{name}", f"{BASE}/{name}/stuck"}
    return wanted if wanted in here else otherwise


def _readable(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, default=repr)
