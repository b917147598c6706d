"""Whether the server lives, and whether it can work."""

from __future__ import annotations

from http import HTTPStatus
from typing import Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from redis.asyncio import Redis
from redis.exceptions import RedisError

from server.api.connection import Lent
from server.problems import described

router = APIRouter(prefix="/api", tags=["health"])


class Health(BaseModel):
    """Everything is fine."""

    status: Literal["ok"] = "ok"


class Readiness(Health):
    """The server can work, perhaps without the queue of jobs."""

    queue: Literal["ok", "away", "off"] = Field(
        description="whether the Redis server answers; off: this server has none"
    )


@router.head("/livez", include_in_schema=False)
@router.get("/livez", summary="Whether the server answers at all")
async def live() -> Health:
    """Asks nothing of the database: a server without one need not be restarted."""
    return Health()


@router.head("/readyz", include_in_schema=False)
@router.get(
    "/readyz",
    summary="Whether the server can work",
    responses=described(HTTPStatus.SERVICE_UNAVAILABLE),
)
async def ready(connection: Lent, request: Request) -> Readiness:
    """Asks the database whether our tables are there, and says whether the queue's server is.

    Without that the page and the outbox work all the same, so it makes no difference to the status.
    """
    await connection.execute("select 1 from notifications.notification_deliveries limit 1")
    return Readiness(queue=await _queue(request.app.state.redis))


async def _queue(client: Redis | None) -> Literal["ok", "away", "off"]:
    if client is None:
        return "off"
    try:
        await client.ping()
    except (RedisError, OSError):
        return "away"
    return "ok"
