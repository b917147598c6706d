"""Metrics for Prometheus."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import APIRouter, Depends, Request, Response

from server import outbox
from server.access import may_read_metrics
from server.api.connection import Lent
from server.api.queue_names import queues_or_none
from server.loop_lag import WorstLag
from server.metrics import Figures, exposition
from server.problems import described

router = APIRouter(prefix="/api", tags=["health"])

FORMAT = "text/plain; version=0.0.4; charset=utf-8"


@router.get(
    "/metrics",
    summary="Metrics in the format of Prometheus",
    dependencies=[Depends(may_read_metrics)],
    response_class=Response,
    responses={
        int(HTTPStatus.OK): {
            "description": "The figures of the outbox and of the queues at this moment",
            "content": {"text/plain": {"schema": {"type": "string"}}},
        },
        **described(
            HTTPStatus.UNAUTHORIZED,
            HTTPStatus.FORBIDDEN,
            HTTPStatus.NOT_FOUND,
            HTTPStatus.SERVICE_UNAVAILABLE,
        ),
    },
)
async def read_metrics(request: Request, connection: Lent) -> Response:
    """Depth, channels, what all workers and drains have counted, how the tables fare; the queues.

    Any one server tells all of it, so one of several is enough to be scraped.
    """
    lag: WorstLag = request.app.state.lag
    figures = Figures(
        queues=await queues_or_none(request.app),
        depth=await outbox.depth(connection),
        channels=await outbox.list_channels(connection),
        counts=await outbox.read_counts(connection),
        tables=await outbox.table_health(connection),
        oldest_transaction_s=await outbox.oldest_transaction_s(connection),
        server_lag_s=lag.take(),
    )
    return Response(
        exposition(figures), headers={"Content-Type": FORMAT, "Cache-Control": "no-store"}
    )
