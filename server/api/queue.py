"""The depth of the queue, and the figures that it works by."""

from __future__ import annotations

import hashlib
from datetime import datetime
from http import HTTPStatus
from typing import Literal

from fastapi import APIRouter, Header, Response
from pydantic import BaseModel, ConfigDict, Field

from server import outbox
from server.api.connection import Configured, Lent
from server.outbox import Depth
from server.problems import described

router = APIRouter(prefix="/api/queue", tags=["queue"])


class Workers(BaseModel):
    """The queue workers that run."""

    live: int = Field(ge=0, description="workers that have been heard of lately")


class Pending(BaseModel):
    """What waits. `due`, `scheduled` and `retrying` make up `total`."""

    total: int = Field(ge=0)
    due: int = Field(ge=0, description="may be claimed now")
    scheduled: int = Field(ge=0, description="waits for its first attempt")
    retrying: int = Field(ge=0, description="waits for another attempt")


class QueueDepth(BaseModel):
    """How many deliveries there are in each state, exact at one instant."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "as_of": "2026-05-04T12:00:00Z",
                    "mode": "running",
                    "workers": {"live": 1},
                    "pending": {"total": 12, "due": 7, "scheduled": 3, "retrying": 2},
                    "processing": 25,
                    "sent": 963,
                    "failed": 0,
                    "dead": 0,
                    "oldest_due_age_s": 0.8,
                }
            ]
        }
    )

    as_of: datetime = Field(description="the instant, by the database's clock")
    mode: Literal["running", "dormant"] = Field(description="whether any worker is live")
    workers: Workers
    pending: Pending
    processing: int = Field(ge=0, description="held by a worker under a lease")
    sent: int = Field(ge=0)
    failed: int = Field(ge=0, description="refused for good by the receiver")
    dead: int = Field(ge=0, description="attempts used up")
    oldest_due_age_s: float | None = Field(
        ge=0, description="for how long the oldest due delivery has been due, in seconds"
    )

    @classmethod
    def of(cls, depth: Depth) -> QueueDepth:
        """The document for a depth."""
        return cls(
            as_of=depth.as_of,
            mode="running" if depth.live_workers else "dormant",
            workers=Workers(live=depth.live_workers),
            pending=Pending(
                total=depth.pending,
                due=depth.due,
                scheduled=depth.scheduled,
                retrying=depth.retrying,
            ),
            processing=depth.processing,
            sent=depth.sent,
            failed=depth.failed,
            dead=depth.dead,
            oldest_due_age_s=depth.oldest_due_age_s,
        )


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
    connection: Lent, response: Response, if_none_match: str | None = Header(None)
) -> QueueDepth | Response:
    """The counts of one instant; the ETag covers everything but that instant."""
    document = QueueDepth.of(await outbox.depth(connection))
    content = document.model_dump_json(exclude={"as_of"}).encode()
    headers = {
        "ETag": f'"{hashlib.sha256(content).hexdigest()[:16]}"',
        "Cache-Control": "no-cache",
    }
    if if_none_match == headers["ETag"]:
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    response.headers.update(headers)
    return document


@router.get("/policy", summary="The figures that the queue works by")
async def read_policy(settings: Configured, response: Response) -> QueuePolicy:
    """What the page shows as constants comes from here."""
    response.headers["Cache-Control"] = "no-cache"
    return QueuePolicy.model_validate(settings.model_dump())
