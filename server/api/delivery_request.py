"""What is asked for when deliveries are enqueued; the API and the command line take the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from server.api.fields import Whole
from server.channels import Schema
from server.channels.storable import Storable
from server.composition import check_payload
from server.outbox import Fault, NewDelivery
from server.outbox.validation import RECIPIENT_LENGTH


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
        description="for email addresses, separated by commas; for webhook a URL; for queue the "
        "name of a task",
    )
    payload: dict[str, Any] = Field(
        description="for page `text`; for email `subject`, `text` and perhaps `html` and "
        "`reply_to`; for webhook whatever is to be posted; for queue what the task takes"
    )
    count: Whole = Field(1, ge=1, le=1000)
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


def per_channel(schema: Schema, fields: Mapping[str, Mapping[str, Schema]]) -> Schema:
    """The request's schema with what each channel wants of its own fields.

    A request that leaves out the channel, or the recipient, has what stands as default.
    """
    properties = schema["properties"]
    variants = []
    for channel, own in fields.items():
        given = [
            *(["channel"] if channel != properties["channel"]["default"] else []),
            *(["recipient"] if "recipient" in own else []),
        ]
        variants.append(
            {
                "title": channel,
                "properties": {"channel": {"const": channel}, **own},
                "required": [*given, "payload"],
            }
        )
    return {
        **schema,
        "properties": properties | {"channel": properties["channel"] | {"enum": list(fields)}},
        "oneOf": variants,
    }
