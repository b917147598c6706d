"""What the tests of the outbox share: a connection, deliveries, and a look at a row."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from server.outbox import Delivery, NewDelivery, claim, enqueue

Connection = psycopg.AsyncConnection[Any]
TABLE = "notifications.notification_deliveries"


@pytest.fixture
async def connection(
    connect: Callable[[], AbstractAsyncContextManager[Connection]],
) -> AsyncIterator[Connection]:
    """One connection in autocommit mode."""
    async with connect() as opened:
        yield opened


class Rows:
    """Adds, claims and reads deliveries the short way."""

    async def add(self, connection: Connection, count: int = 1, **columns: Any) -> list[int]:
        """Enqueues deliveries for the page; `max_attempts` goes to enqueue, the rest to each."""
        most = columns.pop("max_attempts", 5)
        wanted = {"channel": "page", "recipient": "page", "payload": {"text": "x"}} | columns
        return await enqueue(connection, [NewDelivery(**wanted)] * count, max_attempts=most)

    async def take(
        self, connection: Connection, limit: int = 25, *, lease_s: float = 300, holder: str = "a"
    ) -> list[Delivery]:
        """Claims deliveries of the page."""
        return await claim(
            connection, holder=holder, channels=["page"], limit=limit, lease_s=lease_s
        )

    async def take_one(self, connection: Connection, **options: Any) -> Delivery:
        """Adds one delivery and claims it."""
        await self.add(connection)
        [delivery] = await self.take(connection, 1, **options)
        return delivery

    async def read(self, connection: Connection, number: int) -> dict[str, Any]:
        """The row of a delivery as it is now."""
        async with connection.cursor(row_factory=dict_row) as cursor:
            await cursor.execute(f"select * from {TABLE} where id = %s".encode(), (number,))
            row = await cursor.fetchone()
        assert row is not None
        return row

    async def expire(self, connection: Connection) -> None:
        """Lets every lease run out now."""
        await connection.execute(
            f"update {TABLE} set lease_expires_at = clock_timestamp() - interval '1 second'"
            " where status = 'processing'".encode()
        )

    async def make_due(self, connection: Connection) -> None:
        """Lets everything that waits fall due now."""
        await connection.execute(
            f"update {TABLE} set next_attempt_at = clock_timestamp() - interval '1 second'"
            " where status = 'pending'".encode()
        )


@pytest.fixture
def rows() -> Rows:
    """The short way to deliveries."""
    return Rows()
