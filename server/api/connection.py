"""Lends a database connection to an operation."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import Depends, Request
from psycopg import AsyncConnection

from server.database import Pool
from server.settings import Settings


def settings_of(request: Request) -> Settings:
    """The settings that the application runs with."""
    settings: Settings = request.app.state.settings
    return settings


async def _lend(request: Request) -> AsyncIterator[AsyncConnection[Any]]:
    pool: Pool = request.app.state.pool
    async with pool.connection() as connection:
        yield connection


Lent = Annotated[AsyncConnection[Any], Depends(_lend)]
Configured = Annotated[Settings, Depends(settings_of)]
