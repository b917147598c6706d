"""Migrations are applied once, in order, by one runner at a time, and are never edited."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from server.jobs.statements import MIGRATIONS as JOBS
from server.outbox import MigrationError, Phase, migrate
from server.outbox.migrate import MIGRATIONS, migrations
from tests.server.program import run


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
    everything = [*migrations(), *migrations(JOBS)]
    assert applied == sorted(f"applied {m.number:04d}_{m.name}" for m in everything)


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


def _numbered(folder, *names: str) -> None:
    for number, name in enumerate(names, 1):
        stem = name.partition(".")[0]
        (folder / f"{number:04d}_{name}.sql").write_text(f"create table public.{stem} ();")


async def test_what_older_code_needs_is_taken_away_only_after_a_deployment(
    empty_database, tmp_path
):
    """Before it, all but the last ones that have to wait; after it, the rest."""
    _numbered(tmp_path, "one", "gone.after", "two", "late.after")
    async with await psycopg.AsyncConnection.connect(empty_database, autocommit=True) as connection:
        before = await migrate(connection, Phase.BEFORE, tmp_path)
        assert [(m.name, m.after) for m in before] == [
            ("one", False),
            ("gone", True),
            ("two", False),
        ]
        assert await migrate(connection, Phase.BEFORE, tmp_path) == []
        assert [m.name for m in await migrate(connection, Phase.ALL, tmp_path)] == ["late"]


def test_the_command_takes_the_phase(empty_database):
    """And a wrong one is refused."""
    command = [sys.executable, "-m", "server", "migrate", "--phase"]
    environment = {**os.environ, "DATABASE_URL": empty_database}
    done = subprocess.run([*command, "before"], env=environment, capture_output=True, check=False)
    assert done.returncode == 0
    assert b"0001_deliveries" in done.stdout
    wrong = subprocess.run([*command, "during"], env=environment, capture_output=True, check=False)
    assert wrong.returncode == 2


CATALOGUE = """
select 'column ' || table_name, column_name, concat_ws(' ', data_type, is_nullable, column_default,
       identity_generation)
  from information_schema.columns where table_schema = 'notifications'
union all
select 'constraint ' || conrelid::regclass, conname, pg_get_constraintdef(oid)
  from pg_constraint where connamespace = 'notifications'::regnamespace
union all
select 'index ' || tablename, indexname, indexdef
  from pg_indexes where schemaname = 'notifications'
union all
select 'trigger ' || tgrelid::regclass, tgname, pg_get_triggerdef(t.oid)
  from pg_trigger as t join pg_class as c on c.oid = tgrelid
 where relnamespace = 'notifications'::regnamespace and not tgisinternal
union all
select 'function', proname, pg_get_functiondef(oid)
  from pg_proc where pronamespace = 'notifications'::regnamespace
union all
select 'relation', relname, concat_ws(' ', relkind, relpersistence, reloptions::text,
       case relkind when 'v' then pg_get_viewdef(oid) end)
  from pg_class
 where relnamespace = 'notifications'::regnamespace and relkind in ('r', 'v', 'p', 'm')
 order by 1, 2
"""


async def test_the_sum_of_the_migrations_is_the_schema(connection, empty_database):
    """schema.sql is for reading, so it must be true; only the list of migrations is not in it."""
    schema = (MIGRATIONS.parent / "schema.sql").read_text(encoding="utf-8")
    async with await psycopg.AsyncConnection.connect(empty_database, autocommit=True) as other:
        await other.execute(schema.encode())
        expected = await (await other.execute(CATALOGUE.encode())).fetchall()
    found = await (await connection.execute(CATALOGUE.encode())).fetchall()
    ours = [row for row in found if "migrations" not in row[0] + row[1]]
    assert len(ours) > 100
    assert ours == expected


ROLE = """
create role {role} login;
grant usage on schema notifications to {role};
grant select, insert, update, delete on all tables in schema notifications to {role};
grant usage on all sequences in schema notifications to {role};
"""


def test_a_role_that_owns_nothing_can_work(database):
    """What docs/operations.md grants is enough; what is missing is said with a way out."""
    role = f"limited_{os.getpid()}"
    limited = make_conninfo(database, user=role)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(ROLE.format(role=role).encode())
        try:
            added = run("enqueue", "--count", "2", DATABASE_URL=limited)
            assert (added.returncode, added.stderr) == (0, "")
            drained = run("drain", DATABASE_URL=limited)
            assert (drained.returncode, json.loads(drained.stdout)["done"]["sent"]) == (0, 2)
            connection.execute("drop schema notifications cascade")
            refused = run("depth", DATABASE_URL=limited)
            assert refused.returncode == 1
            assert "workers migrate" in refused.stderr
            assert "Traceback" not in refused.stderr
        finally:
            connection.execute(f"drop owned by {role}".encode())
            connection.execute(f"drop role {role}".encode())


def test_the_role_is_the_one_of_the_documentation():
    """Word for word."""
    documented = Path("docs/operations.md").read_text(encoding="utf-8")
    assert ROLE.strip().format(role="worker") in documented


@pytest.mark.parametrize(
    ("encoding", "of_the_client"), [("LATIN1", ""), ("SQL_ASCII", ""), ("UTF8", "latin1")]
)
async def test_only_utf8_will_do(postgres, encoding, of_the_client):
    """Elsewhere some texts could not be stored, or would come back as others."""
    name = f"in_another_encoding_{os.getpid()}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(
            f"create database {name} encoding '{encoding}' locale 'C' template template0".encode()
        )
        given = {"client_encoding": of_the_client} if of_the_client else {}
        try:
            conninfo = make_conninfo(postgres, dbname=name, **given)
            async with await psycopg.AsyncConnection.connect(conninfo) as opened:
                with pytest.raises(MigrationError, match="UTF8"):
                    await migrate(opened)
        finally:
            connection.execute(f"drop database {name} with (force)".encode())
