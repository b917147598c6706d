"""One send, bounded in time; whatever comes of it is an outcome."""

from __future__ import annotations

import asyncio

from .channels import Channel
from .errors import ChannelDown, Refused, RetryLater
from .model import Delivery, Failed, Outcome, Rejected, Sent


async def send_one(channel: Channel, delivery: Delivery, *, timeout_s: float) -> Outcome:
    """Sends a delivery and classifies what came of it; a send that takes too long is cancelled.

    Raises CancelledError only if this task itself is cancelled: one that a channel lets escape
    from a task of its own is a failed attempt.
    """
    limit = asyncio.timeout(timeout_s)
    try:
        async with limit:
            given = await channel.send(delivery)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        return Failed("the channel cancelled its own send")
    except Exception as error:  # noqa: BLE001 - whatever a channel raises is an outcome
        if limit.expired():
            return Failed(f"no answer within {timeout_s:g} s", "timeout")
        return _outcome(error)
    return Sent(None if given is None else str(given))


def _outcome(error: Exception) -> Outcome:
    match error:
        case Refused():
            return Rejected(str(error), error.code)
        case RetryLater():
            return Failed(str(error), "retry-later", error.after_s)
        case ChannelDown():
            return Failed(str(error), "channel-down")
        case TimeoutError():
            return Failed(f"{type(error).__name__}: {error}", "timeout")
    return Failed(f"{type(error).__name__}: {error}")
