"""The pages of the outbox, and their forms."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Annotated, Literal

import psycopg
from fastapi import APIRouter, Depends, Path, Query, Request
from pydantic import BaseModel, Field, ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from server import outbox
from server.api.connection import Lent
from server.api.operator import CURSOR
from server.channels.storable import Storable
from server.composition import CHANNELS
from server.dashboard.notices import notice_of
from server.dashboard.pages import PageRoute, back_to, form_of
from server.dashboard.rendering import page, words_of
from server.dashboard.visitor import let_change
from server.outbox import Depth, InvalidCursorError, Status
from server.outbox.paused import paused_channels

router = APIRouter(route_class=PageRoute, include_in_schema=False, default_response_class=Response)
changing = [Depends(let_change)]

BASE = "/queues/outbox"
AT_ONCE = 100
Number = Annotated[int, Path(ge=1, lt=1 << 63)]


async def depth_or_none(request: Request) -> Depth | None:
    """The outbox's depth; None while the database is away."""
    try:
        depth: Depth = await request.app.state.depth.get()
    except psycopg.OperationalError:
        return None
    return depth


@router.get(BASE)
async def show_outbox(
    request: Request,
    connection: Lent,
    status: Status | None = None,
    cursor: Annotated[str | None, Query(pattern=CURSOR)] = None,
) -> Response:
    """The outbox: its depth, deliveries of a status, and the channels that are paused."""
    try:
        found = await outbox.list_deliveries(connection, status=status, cursor=cursor)
    except InvalidCursorError as error:
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from error
    named = None if status is None else status.value
    values = {
        "depth": await depth_or_none(request),
        "status": named,
        "page": found,
        "cursor": cursor,
        "first": _address(request, named, None),
        "next": _address(request, named, found.cursor),
        "paused": await paused_channels(connection),
        "channels": [channel.name for channel in CHANNELS],
        "notice": notice_of(request, words_of(request)),
    }
    return page(request, "outbox.html", values)


@router.get(f"{BASE}/{{number:int}}")
async def show_delivery(request: Request, connection: Lent, number: Number) -> Response:
    """One delivery with its attempts."""
    found = await outbox.show_delivery(connection, number)
    if found is None:
        raise HTTPException(HTTPStatus.NOT_FOUND)
    status = found.delivery.status
    allowed = {Status.FAILED: ["retry"], Status.DEAD: ["retry"], Status.PENDING: ["cancel"]}
    values = {
        "one": found.delivery,
        "attempts": found.attempts,
        "payload": json.dumps(found.payload, ensure_ascii=False, indent=2),
        "allowed": allowed.get(status, []),
        "notice": notice_of(request, words_of(request)),
    }
    return page(request, "delivery.html", values)


@router.post(f"{BASE}/retry", dependencies=changing)
async def retry_ended(request: Request, connection: Lent) -> Response:
    """Gives the oldest of a status another chance, a hundred at a time."""
    status = (await form_of(request)).get("status")
    if status not in {"failed", "dead"}:
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, "status")
    moved = await outbox.retry_matching(connection, Status(status), limit=AT_ONCE)
    return back_to(request, BASE, status=status, did="retry", moved=len(moved))


@router.post(f"{BASE}/{{number:int}}/{{action}}", dependencies=changing)
async def do_to_delivery(
    request: Request, connection: Lent, number: Number, action: Literal["retry", "cancel"]
) -> Response:
    """Retries or cancels one, and goes back to it."""
    act = outbox.retry if action == "retry" else outbox.cancel
    moved = await act(connection, [number])
    return back_to(request, f"{BASE}/{number}", did=action, said="ok" if moved else "notDelivery")


class _ChannelForm(BaseModel):
    channel: Storable = Field(min_length=1, max_length=200)
    reason: Storable | None = Field(None, max_length=500)


@router.post(f"{BASE}/channels/{{action}}", dependencies=changing)
async def do_to_channel(
    request: Request, connection: Lent, action: Literal["pause", "resume"]
) -> Response:
    """Pauses or resumes a channel."""
    try:
        wanted = _ChannelForm.model_validate(await form_of(request))
    except ValidationError as error:
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, "channel") from error
    if action == "pause":
        await outbox.pause_channel(connection, wanted.channel, reason=wanted.reason)
    else:
        await outbox.resume_channel(connection, wanted.channel)
    return back_to(request, BASE, did=action)


def _address(request: Request, status: str | None, cursor: str | None) -> str:
    return back_to(request, BASE, status=status, cursor=cursor).headers["location"]
