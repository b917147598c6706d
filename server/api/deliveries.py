"""Adds deliveries for a demonstration, and shows what has arrived on the page."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from server import outbox
from server.access import may_change_state
from server.api.connection import Configured, Lent
from server.api.delivery_request import DeliveryRequest
from server.composition import checks
from server.outbox.channels.page import PageMessage, page_messages
from server.problems import described

router = APIRouter(prefix="/api", tags=["deliveries"])

SHOWN_IDS = 25


class DeliveriesAccepted(BaseModel):
    """What has been enqueued."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"ids": [41, 42, 43], "count": 3}]})

    ids: list[int] = Field(description=f"the first {SHOWN_IDS} of the new deliveries' ids")
    count: int


class PageMessages(BaseModel):
    """Messages in the order of their arrival."""

    messages: list[PageMessage]
    position: int | None = Field(description="ask for what comes after this next time")


@router.post(
    "/deliveries",
    summary="Enqueue deliveries",
    status_code=HTTPStatus.ACCEPTED,
    dependencies=[Depends(may_change_state)],
    responses=described(
        HTTPStatus.BAD_REQUEST,
        HTTPStatus.UNAUTHORIZED,
        HTTPStatus.FORBIDDEN,
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        HTTPStatus.UNPROCESSABLE_ENTITY,
        HTTPStatus.SERVICE_UNAVAILABLE,
    ),
)
async def add_deliveries(
    wanted: DeliveryRequest, connection: Lent, settings: Configured
) -> DeliveriesAccepted:
    """Adds them in one transaction: all of them or none."""
    async with connection.transaction():
        ids = await outbox.enqueue(
            connection,
            wanted.deliveries(),
            max_attempts=settings.max_attempts,
            checks=checks(settings),
        )
    return DeliveriesAccepted(ids=ids[:SHOWN_IDS], count=len(ids))


@router.get(
    "/page-messages",
    summary="What the channel 'page' has delivered",
    responses=described(HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.SERVICE_UNAVAILABLE),
)
async def read_page_messages(
    connection: Lent,
    response: Response,
    after: Annotated[
        int | None, Query(ge=0, lt=1 << 63, description="a position; without it the newest")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> PageMessages:
    """Messages after a position: who keeps asking misses none and sees none twice."""
    response.headers["Cache-Control"] = "no-store"
    messages = await page_messages(connection, after=after, limit=limit)
    return PageMessages(messages=messages, position=messages[-1].position if messages else after)
