"""Where deliveries go. A channel is a name and something that can send."""

from __future__ import annotations

from typing import Protocol

from ..model import Delivery


class Channel(Protocol):
    """Sends deliveries of one kind. It must bear being called with the same delivery again."""

    async def send(self, delivery: Delivery) -> None:
        """Returns once the receiver has taken the delivery.

        Raises Refused when the receiver refused it for good; any other exception, and a time-out,
        lets the delivery be tried again.
        """
