"""Puts a worker together from the settings: the one place that knows which channels there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from server import channels
from server.channels import ChannelClass, Schema
from server.channels.email import EmailChannel
from server.channels.page import PageChannel
from server.channels.queue import QueueChannel
from server.channels.webhook import WebhookChannel
from server.database import Pool
from server.meter import Meter, MeteredChannel
from server.outbox import Channel, Check, Fault, Turn, new_holder
from server.settings import Settings

CHANNELS: Sequence[ChannelClass] = (
    EmailChannel,
    PageChannel,
    QueueChannel,
    WebhookChannel,
)


def check_payload(channel: str, recipient: str, payload: Mapping[str, Any]) -> list[Fault]:
    """Why no channel of this name could ever send this, each field by its name."""
    return channels.check_payload(CHANNELS, channel, recipient, payload)


def checks(settings: Settings) -> Mapping[str, Check]:
    """What each channel has against a delivery under these settings, for `outbox.enqueue`."""
    return {known.name: known.check(settings) for known in CHANNELS}


def channel_fields(settings: Settings) -> Mapping[str, Mapping[str, Schema]]:
    """By channel, the schemas of the fields that a delivery for it must have."""
    return {known.name: known.fields(settings) for known in CHANNELS}


def new_turn(own: Pool, for_channels: Pool, settings: Settings, meter: Meter) -> Turn:
    """A worker's turn under a name of its own, with every channel that the settings set up.

    Deliveries for a channel that is not set up here wait for a worker that has it. `meter` counts
    what the channels answer. `own` is for the queue's statements, `for_channels` for what channels
    do in the database.
    """
    made = {
        known.name: known.from_settings(settings, for_channels.connection) for known in CHANNELS
    }
    policy = settings.policy()
    ready: dict[str, Channel] = {}
    for name, channel in made.items():
        if channel is not None:
            ready[name] = metered = MeteredChannel(name, channel, meter)
            # Time-out and limit are the channel's own, the breaker is the same for all.
            metered.policy = replace(
                policy.of_channel(channel),
                breaker_failures=policy.breaker_failures,
                breaker_pause_s=policy.breaker_pause_s,
            )
    return Turn(own.connection, ready, policy, holder=new_holder())
