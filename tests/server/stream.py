"""Reads server-sent events of a real server, as a browser would."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx

PATIENCE_S = 60.0
"""Seconds after which something that should have happened counts as a failure."""


@dataclass
class Event:
    """One event: its name, its data, and the id to come back with."""

    name: str
    data: dict[str, Any]
    id: str


class Stream:
    """The events of an open response.

    `id` is that of the last one, as a browser keeps it; `changes` are all that have been told.
    """

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.id: str | None = None
        self._lines = response.aiter_lines()
        self.changes: list[dict[str, Any]] = []

    async def next(self) -> Event | None:
        """The next event; None at the end of the stream."""
        fields: dict[str, str] = {}
        async with asyncio.timeout(PATIENCE_S):
            async for line in self._lines:
                name, _, value = line.partition(":")
                if name:
                    fields[name] = value.removeprefix(" ")
                elif not line and "data" in fields:
                    event = Event(fields["event"], json.loads(fields["data"]), fields["id"])
                    self.id = event.id
                    self.changes += event.data.get("changes", [])
                    return event
        return None

    async def until(self, **wanted: Any) -> dict[str, Any]:
        """The first change that has these values, read before or still to come."""
        place = 0
        while True:
            for change in self.changes[place:]:
                if wanted.items() <= change.items():
                    return change
            place = len(self.changes)
            assert await self.next() is not None, f"ended without {wanted}"


@contextlib.asynccontextmanager
async def streaming(
    client: httpx.AsyncClient, *, after: str | None = None, **headers: str
) -> AsyncIterator[Stream]:
    """Opens the stream of changes, after a cursor where there is one."""
    if after is not None:
        headers["Last-Event-ID"] = after
    request = client.stream("GET", "/api/queue/events", headers=headers, timeout=None)
    async with request as response:
        assert response.status_code == 200, (await response.aread()).decode()
        yield Stream(response)
