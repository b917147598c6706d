"""The depth of the queue, and the figures that it works by."""

from __future__ import annotations

import hashlib
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Header, Request, Response
from pydantic import BaseModel, Field

from server.api.connection import Configured
from server.api.queue_depth import QueueDepth
from server.outbox import Depth
from server.problems import described
from server.single_flight import SingleFlight

router = APIRouter(prefix="/api/queue", tags=["queue"])


class QueuePolicy(BaseModel):
    """The figures that the queue works by. Spans are in seconds, before `time_scale`."""

    batch: int
    concurrency: int
    max_attempts: int
    backoff_s: tuple[float, ...]
    backoff_jitter: float
    lease_s: float
    send_timeout_s: float
    send_margin_s: float
    poll_s: float
    time_scale: float = Field(description="every span is multiplied by this")


class PagePolicy(QueuePolicy):
    """The same, and what the page need not ask for where it is not there."""

    lab: bool = Field(description="whether this server has a lab (`/api/lab`)")


@router.head("/depth", response_model=None, include_in_schema=False)
@router.get(
    "/depth",
    summary="How many deliveries there are in each state",
    responses={
        int(HTTPStatus.NOT_MODIFIED): {"description": "Nothing but the time has changed"},
        **described(HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.UNPROCESSABLE_ENTITY),
    },
    response_model=QueueDepth,
)
async def read_depth(
    request: Request, response: Response, if_none_match: Annotated[str | None, Header()] = None
) -> QueueDepth | Response:
    """The counts of one instant; the ETag covers everything but that instant.

    Whoever asks at the same time is answered by the same query.
    """
    flight: SingleFlight[Depth] = request.app.state.depth
    document = QueueDepth.of(await flight.get())
    content = document.model_dump_json(exclude={"as_of"}).encode()
    headers = {
        "ETag": f'"{hashlib.sha256(content).hexdigest()[:16]}"',
        "Cache-Control": "no-cache",
    }
    if _has(if_none_match, headers["ETag"]):
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    response.headers.update(headers)
    return document


def _has(if_none_match: str | None, tag: str) -> bool:
    """Whether the client has this version: a proxy that compresses makes our tags weak ones."""
    known = [one.strip().removeprefix("W/") for one in (if_none_match or "").split(",")]
    return tag in known or known == ["*"]


@router.head("/policy", include_in_schema=False)
@router.get("/policy", summary="The figures that the queue works by")
async def read_policy(settings: Configured, response: Response) -> PagePolicy:
    """What the page shows as constants comes from here."""
    response.headers["Cache-Control"] = "no-cache"
    return PagePolicy.model_validate(settings.model_dump() | {"lab": settings.lab_mode})
