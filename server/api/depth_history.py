"""The depth over time, for a small chart."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from server import outbox
from server.api.connection import Lent
from server.outbox import Sample
from server.problems import described

router = APIRouter(prefix="/api/queue", tags=["queue"])

WEEK_MINUTES = 7 * 24 * 60


class DepthHistory(BaseModel):
    """Samples of the depth, oldest first."""

    step_s: int = Field(description="seconds between two samples, where none is missing")
    samples: list[Sample]


@router.get(
    "/depth/history",
    summary="The depth over time",
    responses=described(HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.SERVICE_UNAVAILABLE),
)
async def read_history(
    connection: Lent,
    response: Response,
    minutes: Annotated[
        int, Query(ge=1, le=WEEK_MINUTES, description="how far back, a week at most")
    ] = 180,
    points: Annotated[int, Query(ge=1, le=1500, description="at most so many samples")] = 360,
) -> DepthHistory:
    """One sample a minute, kept for a week, thinned out to the points asked for.

    Minutes in which no worker and no drain ran are missing.
    """
    response.headers["Cache-Control"] = "max-age=15"
    step_s, samples = await outbox.depth_history(connection, span_s=60.0 * minutes, most=points)
    return DepthHistory(step_s=step_s, samples=samples)
