"""Puts a worker together from the settings: the one place that knows which channels there are."""

from __future__ import annotations

from collections.abc import Mapping

from server.database import Pool
from server.outbox import Channel, Turn, new_holder
from server.outbox.channels.page import NAME as PAGE
from server.outbox.channels.page import PageChannel
from server.settings import Settings


def new_turn(pool: Pool, settings: Settings) -> Turn:
    """A worker's turn under a name of its own, with every channel that this server has."""
    channels: Mapping[str, Channel] = {
        PAGE: PageChannel(pool.connection, takes_s=settings.page_send_s * settings.time_scale),
    }
    return Turn(pool.connection, channels, settings.policy(), holder=new_holder())
