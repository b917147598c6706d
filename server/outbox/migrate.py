"""Brings the schema up to date from the numbered files in migrations/.

A file `0007_name.sql` is applied before the code that needs it is deployed, so it must not disturb
the code that still runs. A file `0007_name.after.sql` takes away what only older code needs.
"""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from psycopg import AsyncConnection, sql
from psycopg.rows import TupleRow

from .errors import MigrationError

MIGRATIONS = Path(__file__).parent / "migrations"
SCHEMA = "notifications"
AFTER = ".after"
LOCK = 0x6F7574626F78  # "outbox": any number will do, as long as every runner uses the same
log = logging.getLogger(__name__)


class Phase(StrEnum):
    """When migrations are applied: before a deployment, or also what has to wait for its end."""

    BEFORE = "before"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered file, and the sum of its text. `after`: not while older code still runs."""

    number: int
    name: str
    text: str
    after: bool = False

    @property
    def digest(self) -> str:
        """The SHA-256 of the text, by which a changed file is noticed."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def migrations(folder: Path = MIGRATIONS) -> list[Migration]:
    """The migrations in order. Raises MigrationError when a number is missing or used twice."""
    found = []
    for path in sorted(folder.glob("*.sql")):
        number, _, name = path.stem.partition("_")
        after = name.endswith(AFTER)
        text = path.read_text(encoding="utf-8")
        found.append(Migration(int(number), name.removesuffix(AFTER), text, after))
    if [m.number for m in found] != list(range(1, len(found) + 1)):
        raise MigrationError(f"migrations in {folder} are not numbered 1, 2, 3, … without a gap")
    return found


async def migrate(
    connection: AsyncConnection[TupleRow],
    phase: Phase = Phase.ALL,
    folder: Path = MIGRATIONS,
    *,
    schema: str = SCHEMA,
) -> list[Migration]:
    """Applies what is missing, all of it or nothing, and returns what it applied.

    Phase.BEFORE leaves out the migrations at the end that have to wait until no older code runs;
    one that others build upon is from an earlier release, and is applied.

    Runners that start at the same time wait for one another and find nothing left to do. Where
    nothing is missing nothing is asked for but to read, so that a worker's role need own nothing.
    Raises MigrationError when the database has a migration that is not here, or another text of
    one, and when it, or the connection to it, is not in UTF-8. What was applied is noted in
    `schema`, which the migrations of `folder` fill.
    """
    table = sql.Identifier(schema, "migrations")
    wanted = migrations(folder)
    due = _due(wanted, phase)
    applied_now = []
    async with connection.transaction():
        _refuse_other_encodings(connection)
        present = await _present(connection, schema)
        _refuse_strangers(present, wanted)
        if all(migration.number in present for migration in due):
            return []
        await connection.execute("select pg_advisory_xact_lock(%s)", (LOCK,))
        # Opening a catalog has the server see what was committed while we waited for the lock;
        # without that it may believe for another moment that there is no such schema.
        cursor = await connection.execute(
            "select 1 from pg_catalog.pg_namespace where nspname = %s", (schema,)
        )
        if await cursor.fetchone() is None:
            await connection.execute(sql.SQL("create schema {}").format(sql.Identifier(schema)))
        await connection.execute(
            sql.SQL(
                "create table if not exists {} ("
                " number integer primary key, name text not null, digest text not null,"
                " applied_at timestamptz not null default clock_timestamp())"
            ).format(table)
        )
        present = await _present(connection, schema)
        _refuse_strangers(present, wanted)
        for migration in due:
            if migration.number in present:
                continue
            await connection.execute(migration.text.encode())
            await connection.execute(
                sql.SQL("insert into {} (number, name, digest) values (%s, %s, %s)").format(table),
                (migration.number, migration.name, migration.digest),
            )
            log.info(
                "applied migration %d %s",
                migration.number,
                migration.name,
                extra={"action": "migrate", "number": migration.number},
            )
            applied_now.append(migration)
    return applied_now


async def _present(connection: AsyncConnection[TupleRow], schema: str) -> dict[int, str]:
    """The migrations that were applied, by number, with their digests."""
    table = sql.Identifier(schema, "migrations")
    name = table.as_string(connection)
    cursor = await connection.execute("select to_regclass(%s) is not null", (name,))
    if await cursor.fetchone() != (True,):
        return {}
    cursor = await connection.execute(sql.SQL("select number, digest from {}").format(table))
    return {int(number): str(digest) for number, digest in await cursor.fetchall()}


def _refuse_other_encodings(connection: AsyncConnection[TupleRow]) -> None:
    """In another one not every text could be stored, or it would come back as something else."""
    stored = connection.info.parameter_status("server_encoding")
    if stored != "UTF8" or connection.info.encoding != "utf-8":
        raise MigrationError(
            f"the outbox needs a database in UTF8 and a connection in UTF8: this one is in "
            f"{stored}, its connection in {connection.info.encoding}"
        )


def _due(wanted: list[Migration], phase: Phase) -> list[Migration]:
    last = max((m.number for m in wanted if not m.after), default=0)
    return wanted if phase is Phase.ALL else [m for m in wanted if m.number <= last]


def _refuse_strangers(present: dict[int, str], wanted: list[Migration]) -> None:
    known = {migration.number: migration for migration in wanted}
    for number, digest in sorted(present.items()):
        if number not in known:
            raise MigrationError(
                f"the database has migration {number}, which this version does not know: "
                "it was set up by a newer version"
            )
        if known[number].digest != digest:
            raise MigrationError(
                f"migration {number} ({known[number].name}) was applied with another text than the "
                "file has now; a migration that was applied must not be edited"
            )
