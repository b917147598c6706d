"""What an operator does with single deliveries: look, retry, cancel."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from server import outbox
from server.api.connection import Lent
from server.api.fields import Moment, Whole
from server.api.operators import operators_router
from server.channels.storable import Storable
from server.outbox import DeliveryPage, InvalidCursorError, ShownDelivery, Status
from server.problems import ProblemError, described

router = operators_router("/api/deliveries")

Number = Annotated[int, Path(ge=1, lt=1 << 63, description="the delivery's id")]
ChannelName = Annotated[
    Storable | None, Query(min_length=1, max_length=200, description="of this channel only")
]
CURSOR = r"^(?:[0-9]{1,16}\.)?[0-9]{1,18}$"
MORE = "room for at least so many further attempts"

_gone_or_moved = described(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)


class Moved(BaseModel):
    """Which deliveries were moved."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"ids": [41, 42], "count": 2}]})

    ids: list[int]
    count: int = Field(ge=0)


class RetryFilter(BaseModel):
    """Which deliveries are to get another chance. The oldest ends come first."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"status": "dead", "channel": "page", "limit": 100}]},
    )

    status: Literal["failed", "dead"]
    channel: Storable | None = Field(None, min_length=1, max_length=200)
    settle_class: Storable | None = Field(
        None, min_length=1, max_length=200, description="why they ended, as 'exhausted'"
    )
    settled_since: Moment | None = None
    settled_before: Moment | None = Field(
        None, description="keeps those that end again from coming round"
    )
    limit: Whole = Field(100, ge=1, le=1000, description="at most so many in this call")
    attempts: Whole = Field(1, ge=1, le=25, description=MORE)


@router.get("", summary="Deliveries, page by page", responses=described(HTTPStatus.BAD_REQUEST))
async def list_deliveries(  # noqa: PLR0913, PLR0917 - each is a part of the query string
    connection: Lent,
    response: Response,
    status: Annotated[Status | None, Query(description="of this status only")] = None,
    channel: ChannelName = None,
    cursor: Annotated[
        str | None, Query(pattern=CURSOR, description="`cursor` of the page before")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> DeliveryPage:
    """Pending ones in the order in which they fall due, those that have ended latest first.

    All statuses together come newest first. `cursor` is null on the last page.
    """
    response.headers["Cache-Control"] = "no-store"
    try:
        return await outbox.list_deliveries(
            connection, status=status, channel=channel, cursor=cursor, limit=limit
        )
    except InvalidCursorError as error:
        raise ProblemError(HTTPStatus.BAD_REQUEST, f"cursor: {error}.") from error


@router.get("/{number:int}", summary="One delivery", responses=described(HTTPStatus.NOT_FOUND))
async def show_delivery(connection: Lent, response: Response, number: Number) -> ShownDelivery:
    """With its payload and every attempt: who, when, what came of it, late writes included."""
    response.headers["Cache-Control"] = "no-store"
    return await _shown(connection, number)


@router.post(
    "/retry",
    summary="Give those that ended another chance",
    responses=described(HTTPStatus.BAD_REQUEST),
)
async def retry_matching(connection: Lent, wanted: RetryFilter) -> Moved:
    """Makes up to `limit` failed or dead deliveries due now; call it again for more."""
    ids = await outbox.retry_matching(
        connection,
        Status(wanted.status),
        channel=wanted.channel,
        settle_class=wanted.settle_class,
        settled_since=wanted.settled_since,
        settled_before=wanted.settled_before,
        limit=wanted.limit,
        more=wanted.attempts,
    )
    return Moved(ids=ids, count=len(ids))


@router.post("/{number:int}/retry", summary="Give one another chance", responses=_gone_or_moved)
async def retry(
    connection: Lent,
    number: Number,
    attempts: Annotated[int, Query(ge=1, le=25, description=MORE)] = 1,
) -> Moved:
    """Makes a failed or dead delivery due now; 409 if it is something else."""
    ids = await outbox.retry(connection, [number], more=attempts)
    return await _moved(connection, number, ids, "only one that failed or is dead can be retried")


@router.post("/{number:int}/cancel", summary="Cancel one that waits", responses=_gone_or_moved)
async def cancel(connection: Lent, number: Number) -> Moved:
    """Ends a pending delivery as failed, class 'cancelled'; 409 if it is something else."""
    ids = await outbox.cancel(connection, [number])
    return await _moved(connection, number, ids, "only a pending one can be cancelled")


async def _moved(connection: Lent, number: int, ids: list[int], what_can_be: str) -> Moved:
    """The answer for one delivery. Raises a problem if it was not moved, or is not there."""
    if not ids:
        status = (await _shown(connection, number)).delivery.status
        raise ProblemError(HTTPStatus.CONFLICT, f"Delivery {number} is {status}; {what_can_be}.")
    return Moved(ids=ids, count=1)


async def _shown(connection: Lent, number: int) -> ShownDelivery:
    found = await outbox.show_delivery(connection, number)
    if found is None:
        raise ProblemError(HTTPStatus.NOT_FOUND, f"There is no delivery {number}.")
    return found
