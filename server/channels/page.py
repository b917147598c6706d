"""The channel "page" with the payload that the API takes for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field

from server.channels import Fault, payload_faults
from server.outbox import Connect
from server.outbox.channels import page
from server.settings import Settings


class PagePayload(BaseModel):
    """What the page shows."""

    model_config = ConfigDict(extra="forbid", strict=True)

    text: str = Field(min_length=1, max_length=500, pattern=r"^[^\x00]*$")


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
