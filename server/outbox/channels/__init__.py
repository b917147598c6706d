"""Where deliveries go. A channel is a name and something that can send."""

from __future__ import annotations

from typing import Protocol

from ..model import Delivery


class Channel(Protocol):
    """Sends deliveries of one kind. It must bear being called with the same delivery again.

    A channel may also have an attribute `policy` (a ChannelPolicy) with a time-out, a limit and
    a breaker of its own; without it the worker's Policy holds.
    """

    async def send(self, delivery: Delivery) -> str | None:
        """Returns once the receiver has taken the delivery.

        What it returns is the receiver's own name for it, if it gave one; that is kept in the
        attempt log. It raises Refused when the receiver refused for good, RetryLater when the
        receiver asked for a pause, ChannelDown when not this delivery but the channel is at
        fault. Any other exception and a time-out are a failed attempt, which is tried again and
        counts against the channel as ChannelDown does. A send that is cancelled must end soon.
        """
