"""Whether the server lives, and whether it can work."""

from __future__ import annotations

from http import HTTPStatus
from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel

from server.api.connection import Lent
from server.problems import described

router = APIRouter(prefix="/api", tags=["health"])


class Health(BaseModel):
    """Everything is fine."""

    status: Literal["ok"] = "ok"


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
async def ready(connection: Lent) -> Health:
    """Asks the database whether our tables are there."""
    await connection.execute("select 1 from notifications.notification_deliveries limit 1")
    return Health()
