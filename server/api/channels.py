"""Channels: what waits for them, and whether they are paused."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import Body, Path, Response
from pydantic import BaseModel, ConfigDict, Field

from server import outbox
from server.api.connection import Lent
from server.api.operators import operators_router
from server.channels.storable import Storable
from server.outbox import ChannelState
from server.problems import described

router = operators_router("/api/channels")

Name = Annotated[Storable, Path(min_length=1, max_length=200, description="the channel's name")]


class Channels(BaseModel):
    """Every channel that has deliveries waiting or is paused, by name."""

    channels: list[ChannelState]


class Pause(BaseModel):
    """Why a channel is paused."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"reason": "the provider is down"}]}
    )

    reason: Storable | None = Field(None, min_length=1, max_length=500)


class ChannelPaused(BaseModel):
    """How a channel stands now."""

    channel: str
    paused: bool


@router.get("", summary="What waits for each channel")
async def list_channels(connection: Lent, response: Response) -> Channels:
    """Looks at each pending delivery, so it is not for polling."""
    response.headers["Cache-Control"] = "no-store"
    return Channels(channels=await outbox.list_channels(connection))


@router.post(
    "/{name}/pause", summary="Pause a channel", responses=described(HTTPStatus.BAD_REQUEST)
)
async def pause(
    connection: Lent, name: Name, wanted: Annotated[Pause | None, Body()] = None
) -> ChannelPaused:
    """Its deliveries wait and spend no attempts; what is claimed already is still sent."""
    await outbox.pause_channel(connection, name, reason=wanted.reason if wanted else None)
    return ChannelPaused(channel=name, paused=True)


@router.post("/{name}/resume", summary="Resume a channel")
async def resume(connection: Lent, name: Name) -> ChannelPaused:
    """Ends the pause and wakes the workers; nothing happens if there was none."""
    await outbox.resume_channel(connection, name)
    return ChannelPaused(channel=name, paused=False)
