"""The channel "page": the message lands in a table that the page shows."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.rows import class_row

from ..connect import Connect
from ..errors import Refused
from ..model import Delivery
from ..queue import Connection
from ..statements import statement

NAME = "page"


@dataclass(frozen=True, slots=True)
class PageMessage:
    """A message on the page. `copies` above 1 means that it was sent more than once."""

    position: int
    delivery_id: int
    recipient: str
    text: str
    attempt: int
    copies: int
    received_at: datetime


class PageChannel:
    """Shows a delivery's `text` on the page; the same delivery again is seen as a copy.

    `takes_s` is how long a send takes at least, in seconds, so that there is something to see.
    """

    def __init__(self, connect: Connect, *, takes_s: float = 0.0) -> None:
        self._connect = connect
        self._takes_s = takes_s

    async def send(self, delivery: Delivery) -> None:
        """Writes the message. Raises Refused when the payload has no text."""
        text: Any = delivery.payload.get("text")
        if not isinstance(text, str) or not text:
            raise Refused("the payload has no text")
        if self._takes_s:
            await asyncio.sleep(self._takes_s)
        async with self._connect() as connection:
            await connection.execute(
                statement("page_deliver"),
                {
                    "delivery_id": delivery.id,
                    "recipient": delivery.recipient,
                    "text": text,
                    "attempt": delivery.attempt,
                },
            )


async def page_messages(
    connection: Connection, *, after: int | None = None, limit: int = 50
) -> list[PageMessage]:
    """Messages after a position, or the newest ones without it; oldest first."""
    async with connection.cursor(row_factory=class_row(PageMessage)) as cursor:
        if after is None:
            await cursor.execute(statement("page_messages_latest"), {"limit": limit})
        else:
            await cursor.execute(statement("page_messages"), {"after": after, "limit": limit})
        return await cursor.fetchall()
