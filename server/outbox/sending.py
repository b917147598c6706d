"""One send; whatever comes of it is an outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from .channels import Channel
from .errors import ChannelDown, Refused, RetryLater
from .flight import Cut
from .model import Delivery, Failed, Outcome, Rejected, Sent

SENT = Sent()


async def send_one(
    channel: Channel, delivery: Delivery, cut: Callable[[], Cut | None], *, timeout_s: float
) -> Outcome | Cut:
    """Sends a delivery and classifies what came of it.

    `cut` tells whether it was cancelled from outside, and why: for having taken longer than
    `timeout_s`, or because the worker had to end, which are outcomes, or for another reason, which
    is returned. Raises CancelledError only if this task was cancelled for none of these: one that
    a channel lets escape from a task of its own is a failed attempt.
    """
    try:
        given = await channel.send(delivery)
    except asyncio.CancelledError:
        match cut():
            case None:
                task = asyncio.current_task()
                if task is None or task.cancelling():
                    raise
                return Failed("the channel cancelled its own send")
            case Cut.LATE:
                return _late(timeout_s)
            case Cut.STOPPED:
                return Failed("cut off, since the worker had to end", "stopped")
            case why:
                return why
    except Exception as error:  # noqa: BLE001 - whatever a channel raises is an outcome
        return _late(timeout_s) if cut() is Cut.LATE else _outcome(error)
    return SENT if given is None else Sent(str(given))


def _late(timeout_s: float) -> Failed:
    return Failed(f"no answer within {timeout_s:g} s", "timeout")


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
