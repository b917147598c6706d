"""The channels of this server: what each takes, and where it sends it.

A channel is one class with the members of `ChannelClass` and a `send`, and one line in
server/composition.py. The rules for claiming, retrying and parking are the outbox's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import BaseModel, ValidationError

from server.outbox import Channel, Check, Connect, Fault

if TYPE_CHECKING:  # the settings read the webhooks' secrets by a module of this package
    from server.settings import Settings


Schema = Mapping[str, Any]
"""A JSON Schema."""


class ChannelClass(Protocol):
    """What the class of a channel offers before there is a channel."""

    name: str

    def from_settings(self, settings: Settings, connect: Connect) -> Channel | None:
        """The channel as the settings describe it; None if they do not set it up."""

    def faults(self, recipient: str, payload: Mapping[str, Any]) -> list[Fault]:
        """Why no receiver could ever take this, whatever is set; empty if there is no reason."""

    def check(self, settings: Settings) -> Check:
        """The same, with what the settings do not allow; without any I/O."""

    def fields(self, settings: Settings) -> Mapping[str, Schema]:
        """Schemas of `payload` and, unless any will do, of `recipient`: what fits is taken."""


def check_payload(
    classes: Sequence[ChannelClass], channel: str, recipient: str, payload: Mapping[str, Any]
) -> list[Fault]:
    """Why no receiver of this channel could ever take this; empty if it can be tried."""
    for known in classes:
        if known.name == channel:
            return known.faults(recipient, payload)
    names = ", ".join(sorted(known.name for known in classes))
    return [Fault("channel", f"must be one of {names}")]


def payload_faults(model: type[BaseModel], payload: Mapping[str, Any]) -> list[Fault]:
    """What a model says against a payload, each under the name of its field."""
    try:
        model.model_validate(dict(payload))
    except ValidationError as error:
        return [
            Fault(
                ".".join(("payload", *map(str, fault["loc"]))),
                fault["msg"].removeprefix("Value error, "),
            )
            for fault in error.errors()
        ]
    return []
