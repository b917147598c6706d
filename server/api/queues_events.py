"""The figures of all queues as a stream of server-sent events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from http import HTTPStatus
from typing import Annotated, Any

import psycopg
from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import BaseModel, Field

from server.api.queue_depth import QueueDepth
from server.api.queue_documents import QueueFigures
from server.api.queue_names import queues_or_none
from server.problems import ProblemError, described
from server.queues_feed import QueuesFeed, TooManyWatchersError

router = APIRouter(prefix="/api/queues", tags=["queues"])

RETRY_MS = 2000
MOVING = {"as_of", "recent"}
"""What of the figures differs at each look, or follows from the rest; both come along."""


class QueuesEvent(BaseModel):
    """The data of an event `figures`: everything, each time."""

    queues: Sequence[QueueFigures] | None = Field(
        description="by name; null: the Redis server is away, or there is none"
    )
    outbox: QueueDepth | None = Field(description="null: the database is away")


EVENTS = (QueuesEvent,)
"""What the stream's data is, for the OpenAPI document."""


def new_feed(app: FastAPI) -> QueuesFeed:
    """A feed of the figures of an application's queues."""

    async def read() -> tuple[str, str]:
        looks = await queues_or_none(app)
        event = QueuesEvent(
            queues=None if looks is None else [QueueFigures.of(look) for look in looks],
            outbox=await _outbox(app),
        )
        recent = [queue.recent.claimed + queue.recent.done for queue in event.queues or []]
        compared = event.model_dump_json(
            exclude={"queues": {"__all__": MOVING}, "outbox": {"as_of"}}
        )
        return event.model_dump_json(), f"{compared} {recent}"

    return QueuesFeed(read)


async def _outbox(app: FastAPI) -> QueueDepth | None:
    try:
        return QueueDepth.of(await app.state.depth.get())
    except psycopg.OperationalError:
        return None


async def _watch(request: Request) -> AsyncIterator[AsyncIterator[str]]:
    feed: QueuesFeed = request.app.state.queues_feed
    try:
        async with feed.watching() as told:
            yield told
    except TooManyWatchersError as error:
        raise ProblemError(
            HTTPStatus.SERVICE_UNAVAILABLE,
            "As many watch as this server bears; try again later.",
            {"Retry-After": "10"},
        ) from error


_EVENT: dict[str, Any] = {
    "type": "object",
    "required": ["event", "data"],
    "properties": {
        "event": {"const": "figures"},
        "data": {
            "type": "string",
            "contentMediaType": "application/json",
            "contentSchema": {"$ref": "#/components/schemas/QueuesEvent"},
        },
        "retry": {"type": "integer", "minimum": 0},
    },
}


@router.get(
    "/events",
    summary="The figures of all queues, whenever they change",
    response_class=EventSourceResponse,
    responses={
        int(HTTPStatus.OK): {
            "description": "Events until either side ends it, a comment every 15 s of silence",
            "content": {"text/event-stream": {"itemSchema": _EVENT}},
        },
        **described(HTTPStatus.SERVICE_UNAVAILABLE),
    },
)
async def watch_queues(
    told: Annotated[AsyncIterator[str], Depends(_watch)],
) -> AsyncIterator[ServerSentEvent]:
    """Server-sent events `figures`, the first at once, then at most one a second.

    Each holds everything, so none has to be asked for again. While nobody watches nothing is read,
    and however many watch, it is read once a second.
    """
    retry: int | None = RETRY_MS
    async for data in told:
        yield ServerSentEvent(raw_data=data, event="figures", retry=retry)
        retry = None
