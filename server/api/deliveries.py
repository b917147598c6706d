"""Adds deliveries for a demonstration, and shows what has arrived on the page."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from server import outbox
from server.access import may_change_state
from server.api.connection import Configured, Lent
from server.channels import Fault
from server.composition import check_payload
from server.outbox import NewDelivery
from server.outbox.channels.page import PageMessage, page_messages
from server.outbox.validation import RECIPIENT_LENGTH
from server.problems import described

router = APIRouter(prefix="/api", tags=["deliveries"])

SHOWN_IDS = 25

Storable = Annotated[str, Field(pattern=r"^[^\x00]*$")]
"""Text that PostgreSQL can hold: anything without the null character."""


class DeliveryRequest(BaseModel):
    """One delivery, or several that are alike."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "channel": "page",
                    "recipient": "page",
                    "payload": {"text": "Good morning"},
                    "count": 3,
                }
            ]
        },
    )

    channel: Storable = Field("page", description="one of those that this software has")
    recipient: Storable = Field(
        "page",
        min_length=1,
        max_length=RECIPIENT_LENGTH,
        validate_default=True,
        description="for email addresses, separated by commas; for webhook a URL",
    )
    payload: dict[str, Any] = Field(
        description="for page `text`; for email `subject`, `text` and perhaps `html` and "
        "`reply_to`; for webhook whatever is to be posted"
    )
    count: int = Field(1, ge=1, le=1000)
    idempotency_key: Storable | None = Field(
        None,
        min_length=1,
        max_length=200,
        description="the same request again adds nothing and gets the first ids; "
        "of several deliveries each has the key with its number, from KEY/0 on",
    )

    @field_validator("channel")
    @classmethod
    def _known(cls, channel: str) -> str:
        _raise(fault for fault in check_payload(channel, "", {}) if fault.field == "channel")
        return channel

    @field_validator("recipient")
    @classmethod
    def _reachable(cls, recipient: str, info: ValidationInfo) -> str:
        if "channel" in info.data:
            faults = check_payload(info.data["channel"], recipient, {})
            _raise(fault for fault in faults if fault.field == "recipient")
        return recipient

    @field_validator("payload")
    @classmethod
    def _sendable(cls, payload: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        if "channel" in info.data:
            faults = check_payload(info.data["channel"], "", payload)
            _raise(fault for fault in faults if fault.field.startswith("payload"))
        return payload

    def deliveries(self, *, delay_s: float = 0.0) -> list[NewDelivery]:
        """What to enqueue, due `delay_s` seconds from now."""
        key = self.idempotency_key
        return [
            NewDelivery(
                channel=self.channel,
                recipient=self.recipient,
                payload=self.payload,
                idempotency_key=None if key is None else f"{key}/{number}",
                delay_s=delay_s,
            )
            for number in range(self.count)
        ]


def _raise(faults: Iterable[Fault]) -> None:
    """Raises the faults of one field, each under its place in it; nothing if there are none."""
    lines: list[InitErrorDetails] = [
        {
            "type": PydanticCustomError("unsendable", "{why}", {"why": fault.message}),
            "loc": tuple(fault.field.split(".")[1:]),
            "input": None,
        }
        for fault in faults
    ]
    if lines:
        raise ValidationError.from_exception_data("delivery", lines)


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
            connection, wanted.deliveries(), max_attempts=settings.max_attempts
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
        int | None, Query(ge=0, description="a position; without it the newest")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> PageMessages:
    """Messages after a position: who keeps asking misses none and sees none twice."""
    response.headers["Cache-Control"] = "no-store"
    messages = await page_messages(connection, after=after, limit=limit)
    return PageMessages(messages=messages, position=messages[-1].position if messages else after)
