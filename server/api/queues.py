"""The queues on Redis: their figures, open to everybody."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

from fastapi import APIRouter, Response

from server.api.connection import Configured
from server.api.queue_documents import QueueFigures, Queues
from server.api.queue_names import Opened, known_queues
from server.api.redis_connection import LentRedis
from server.problems import described
from server.redisq import look_at

router = APIRouter(prefix="/api/queues", tags=["queues"])


@router.get(
    "",
    summary="The figures of every queue on Redis",
    responses=described(HTTPStatus.SERVICE_UNAVAILABLE),
)
async def read_queues(redis: LentRedis, settings: Configured, response: Response) -> Queues:
    """What is where, how old, how fast. Costs the same however many jobs there are."""
    response.headers["Cache-Control"] = "no-store"
    looks = await asyncio.gather(*map(look_at, await known_queues(redis, settings)))
    return Queues(queues=[QueueFigures.of(look) for look in looks])


@router.get(
    "/{name}",  # noqa: FAST003 - `Opened` takes it
    summary="The figures of one queue",
    responses=described(
        HTTPStatus.NOT_FOUND, HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.SERVICE_UNAVAILABLE
    ),
)
async def read_queue(queue: Opened, response: Response) -> QueueFigures:
    """The same for one. 404 for a name that no client and no worker has ever opened."""
    response.headers["Cache-Control"] = "no-store"
    return QueueFigures.of(await look_at(queue))
