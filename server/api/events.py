"""What happens in the queue, as a stream of server-sent events that can be resumed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import BaseModel, Field

from server.access import may_change_state
from server.api.queue_depth import QueueDepth
from server.feed import Feed, News, Reason, Reset, TooManyWatchersError
from server.outbox import Change, Cursor, Held, UnreadableCursorError
from server.problems import ProblemError, described

router = APIRouter(prefix="/api/queue", tags=["queue"])

RETRY_MS = 1000


class ChangesEvent(BaseModel):
    """The data of an event `changes`."""

    changes: Sequence[Change]


class ResetEvent(BaseModel):
    """The data of an event `reset`: the queue at one instant, from which changes follow."""

    reason: Reason = Field(
        description="`start`: you have come without a cursor; `too-old`, `unreadable`: your cursor "
        "is of no use, whatever you knew before does not count"
    )
    depth: QueueDepth
    held: Sequence[Held] = Field(description="what workers hold, 200 at most, oldest first")


EVENTS = (ResetEvent, ChangesEvent)
"""What the stream's data is, for the OpenAPI document."""


def encode(changes: Sequence[Change]) -> str:
    """The data of an event for these changes."""
    return ChangesEvent(changes=changes).model_dump_json()


async def _watch(
    request: Request,
    last_event_id: Annotated[
        str | None,
        Header(description="the id of the last event that was received; browsers send it"),
    ] = None,
    after: Annotated[str | None, Query(description="the same, where no header can be sent")] = None,
) -> AsyncIterator[AsyncIterator[Reset | News]]:
    feed: Feed = request.app.state.feed
    cursor, reason = None, Reason.START
    try:
        if given := last_event_id or after:
            cursor = Cursor.parse(given)
    except UnreadableCursorError:
        # Not an error: a browser would take that for an end, and never come back.
        reason = Reason.UNREADABLE
    try:
        async with feed.watching(cursor, reason) as told:
            yield told
    except TooManyWatchersError as error:
        raise ProblemError(
            HTTPStatus.SERVICE_UNAVAILABLE,
            "As many watch as this server bears; try again later.",
            {"Retry-After": "10"},
        ) from error


def _schema(name: str) -> dict[str, Any]:
    return {
        "type": "string",
        "contentMediaType": "application/json",
        "contentSchema": {"$ref": f"#/components/schemas/{name}"},
    }


def _event(name: str, model: str) -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["event", "data", "id"],
        "properties": {
            "event": {"const": name},
            "data": _schema(model),
            "id": {"type": "string", "description": "the cursor after it"},
            "retry": {"type": "integer", "minimum": 0},
        },
    }


@router.get(
    "/events",
    summary="What happens in the queue, as it happens",
    dependencies=[Depends(may_change_state)],
    response_class=EventSourceResponse,
    responses={
        int(HTTPStatus.OK): {
            "description": "Events until either side ends it, a comment every 15 s of silence",
            "content": {
                "text/event-stream": {
                    "itemSchema": {
                        "oneOf": [
                            _event("reset", "ResetEvent"),
                            _event("changes", "ChangesEvent"),
                        ]
                    }
                }
            },
        },
        **described(
            HTTPStatus.UNAUTHORIZED,
            HTTPStatus.FORBIDDEN,
            HTTPStatus.UNPROCESSABLE_ENTITY,
            HTTPStatus.SERVICE_UNAVAILABLE,
        ),
    },
)
async def watch_events(
    told: Annotated[AsyncIterator[Reset | News], Depends(_watch)],
) -> AsyncIterator[ServerSentEvent]:
    """Server-sent events: `reset` with the queue as it is, and `changes` in their order.

    Without a cursor it begins with a `reset`. With one, a `Last-Event-ID`, exactly what has
    happened since follows: nothing is missing and nothing comes twice, or a `reset` says that
    this cannot be told any more. Changes are written only while somebody watches; that makes
    the queue slower. Who reads too slowly is let go and may come back with its cursor.
    """
    retry: int | None = RETRY_MS
    async for one in told:
        match one:
            case Reset():
                event = ResetEvent(
                    reason=one.reason, depth=QueueDepth.of(one.now.depth), held=one.now.held
                )
                name, data = "reset", event.model_dump_json()
            case News():
                name, data = "changes", one.data
        yield ServerSentEvent(raw_data=data, event=name, id=str(one.cursor), retry=retry)
        retry = None
