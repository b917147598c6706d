"""The channel "page" with the payload that the API takes for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field

from server.channels import Schema, payload_faults
from server.channels.storable import Storable
from server.outbox import Check, Connect, Fault
from server.outbox.channels import page
from server.settings import Settings


class PagePayload(BaseModel):
    """What the page shows."""

    model_config = ConfigDict(extra="forbid", strict=True)

    text: Storable = Field(min_length=1, max_length=500)


class PageChannel(page.PageChannel):
    """The outbox's own channel, set up from the settings."""

    name = page.NAME

    @classmethod
    def from_settings(cls, settings: Settings, connect: Connect) -> Self:
        """The channel; every server has it."""
        return cls(connect, takes_s=settings.page_send_s * settings.time_scale)

    @staticmethod
    def faults(recipient: str, payload: Mapping[str, Any]) -> list[Fault]:
        """What is wrong with the text. Any recipient will do: it is shown as it is."""
        del recipient
        return payload_faults(PagePayload, payload)

    @classmethod
    def check(cls, settings: Settings) -> Check:
        """Nothing more: the settings allow all of it."""
        del settings
        return cls.faults

    @staticmethod
    def fields(settings: Settings) -> Mapping[str, Schema]:
        """What the page shows."""
        del settings
        return {"payload": PagePayload.model_json_schema()}
