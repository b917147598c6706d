"""Runs something over one connection to the database of the settings."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from psycopg import AsyncConnection

from server.database import bring_up_to_date, database, one_connection
from server.terminal import settings_for

Result = TypeVar("Result")


def over_connection(
    data_dir: Path | None, act: Callable[[AsyncConnection[Any]], Awaitable[Result]]
) -> Result:
    """What `act` returns, given a connection in autocommit mode to a database that is up to date.

    Raises SettingsError and DatabaseError, and whatever `act` raises.
    """
    with database(settings_for(data_dir=data_dir, quiet=True)) as conninfo:
        return asyncio.run(_run(conninfo, act))


async def _run(conninfo: str, act: Callable[[AsyncConnection[Any]], Awaitable[Result]]) -> Result:
    await bring_up_to_date(conninfo)
    async with await one_connection(conninfo) as connection:
        return await act(connection)
