"""The SQL beside this module, and its schema."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from psycopg import AsyncConnection

from server import outbox
from server.outbox import Phase
from server.outbox.migrate import Migration, migrate
from server.outbox.statements import statement as read_statement

HERE = Path(__file__).parent
MIGRATIONS = HERE / "migrations"
SCHEMA = "jobs"


def statement(name: str) -> bytes:
    """The statement in sql/<name>.sql. Raises FileNotFoundError for an unknown name."""
    return read_statement(name, HERE / "sql")


async def migrate_jobs(
    connection: AsyncConnection[Any], phase: Phase = Phase.ALL
) -> list[Migration]:
    """Brings both schemas up to date, the outbox's first; returns what was applied."""
    return [
        *await outbox.migrate(connection, phase),
        *await migrate(connection, phase, MIGRATIONS, schema=SCHEMA),
    ]
