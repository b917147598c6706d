"""What a job is given while it runs."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from psycopg import AsyncConnection

from server.jobs.errors import LeaseLostError
from server.jobs.model import Claim
from server.jobs.statements import statement
from server.outbox import Connect
from server.settings import Settings


@dataclass(frozen=True)
class Running:
    """The run that this is, where the database is, and `stop`: set when it is to end early."""

    claim: Claim
    connect: Connect
    conninfo: str
    settings: Settings
    stop: asyncio.Event = field(default_factory=asyncio.Event)

    @contextlib.asynccontextmanager
    async def fenced(self) -> AsyncIterator[AsyncConnection[Any]]:
        """A transaction that commits only while the run is still this one.

        The job's row is locked until its end, so no other run can begin meanwhile. Raises
        LeaseLostError, before anything can be written, if the lease is gone.
        """
        async with self.connect() as connection, connection.transaction():
            cursor = await connection.execute(
                statement("hold"), {"run": self.claim.run, "fence": self.claim.fence}
            )
            if await cursor.fetchone() is None:
                raise LeaseLostError(f"run {self.claim.run} of {self.claim.job} lost its lease")
            yield connection
