"""Migrations are applied once, in order, by one runner at a time, and are never edited."""

import asyncio
import os
import shutil
import subprocess
import sys

import psycopg
import pytest

from server.outbox import MigrationError, migrate
from server.outbox.migrate import MIGRATIONS, migrations


def test_two_processes_at_once(empty_database):
    """Both succeed, and each migration was applied by exactly one of them."""
    command = [sys.executable, "-m", "server", "migrate"]
    environment = {**os.environ, "DATABASE_URL": empty_database}
    racers = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    outputs = [racer.communicate() for racer in racers]
    assert [racer.returncode for racer in racers] == [0, 0]
    lines = [line for out, _ in outputs for line in out.splitlines()]
    applied = sorted(line for line in lines if line.startswith("applied"))
    assert applied == [f"applied {m.number:04d}_{m.name}" for m in migrations()]


async def test_many_connections_at_once(empty_database):
    """The same within one process, more of them."""

    async def run() -> int:
        async with await psycopg.AsyncConnection.connect(empty_database) as connection:
            return len(await migrate(connection))

    counts = await asyncio.gather(*(run() for _ in range(6)))
    assert sorted(counts) == [0, 0, 0, 0, 0, len(migrations())]


async def test_a_second_run_does_nothing(connection):
    """The database is up to date already."""
    assert await migrate(connection) == []


async def test_an_edited_migration_is_refused(connection, tmp_path):
    """What was applied is not what the file says now."""
    shutil.copytree(MIGRATIONS, tmp_path / "m")
    (tmp_path / "m" / "0001_deliveries.sql").write_text("select 1;")
    with pytest.raises(MigrationError, match=r"migration 1 .* another text"):
        await migrate(connection, folder=tmp_path / "m")


async def test_a_newer_database_is_refused(connection, tmp_path):
    """An old version does not work on a schema that it does not know."""
    (tmp_path / "m").mkdir()
    shutil.copy(MIGRATIONS / "0001_deliveries.sql", tmp_path / "m")
    with pytest.raises(MigrationError, match="migration 2, which this version does not know"):
        await migrate(connection, folder=tmp_path / "m")


async def test_a_failing_migration_leaves_nothing(empty_database, tmp_path):
    """All of it or nothing."""
    shutil.copytree(MIGRATIONS, tmp_path / "m")
    number = len(migrations()) + 1
    (tmp_path / "m" / f"{number:04d}_broken.sql").write_text("create table a (b nonsense);")
    async with await psycopg.AsyncConnection.connect(empty_database, autocommit=True) as connection:
        with pytest.raises(psycopg.errors.UndefinedObject):
            await migrate(connection, folder=tmp_path / "m")
        cursor = await connection.execute("select to_regclass('notifications.migrations')")
        assert await cursor.fetchone() == (None,)


def test_a_gap_in_the_numbers_is_refused(tmp_path):
    """Two people who add a migration at the same time notice."""
    (tmp_path / "0001_a.sql").write_text("")
    (tmp_path / "0003_c.sql").write_text("")
    with pytest.raises(MigrationError, match="without a gap"):
        migrations(tmp_path)
