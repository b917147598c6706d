"""Lets a platform's scheduler empty the queue, where no worker can run."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from server.access import may_drain
from server.api.connection import Configured
from server.outbox import DrainReport
from server.problems import ProblemError, described
from server.work import drain_until

router = APIRouter(prefix="/api/queue", tags=["queue"])

LONGEST_S = 300.0


@router.post(
    "/drain",
    summary="Deliver what is due, and report",
    dependencies=[Depends(may_drain)],
    responses=described(
        HTTPStatus.UNAUTHORIZED,
        HTTPStatus.FORBIDDEN,
        HTTPStatus.NOT_FOUND,
        HTTPStatus.CONFLICT,
        HTTPStatus.UNPROCESSABLE_ENTITY,
        HTTPStatus.SERVICE_UNAVAILABLE,
    ),
)
async def drain(
    request: Request,
    response: Response,
    settings: Configured,
    max_seconds: Annotated[
        float, Query(gt=0, le=LONGEST_S, description="begin no send that might end after this")
    ] = 50.0,
) -> DrainReport:
    """Ends when nothing is due, or when the time is up: `finished` says which.

    Safe beside workers and other drains; of one server only one runs at a time, another gets 409.
    What falls due later, what others hold and what is paused is not waited for; `left` says how
    much that is, and when the next of it is due. A channel whose send may take longer than the
    time that is left is left out, and `too_short_for` gives its seconds.
    """
    response.headers["Cache-Control"] = "no-store"
    running: asyncio.Lock = request.app.state.draining
    if running.locked():
        raise ProblemError(HTTPStatus.CONFLICT, "A drain already runs on this server; let it end.")
    async with running:
        return await drain_until(
            settings, request.app.state.conninfo, request.app.state.stop, max_s=max_seconds
        )
