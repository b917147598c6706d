"""pgbouncer in transaction mode before a PostgreSQL of the tests: the strictest of the poolers."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from server.unprivileged import unprivileged_account

PATIENCE_S = 30.0
SETTINGS = """\
[databases]
* = host={host} port={port}

[pgbouncer]
pool_mode = transaction
listen_port = {own_port}
unix_socket_dir = {folder}
auth_type = trust
auth_file = {folder}/users.txt
auth_user = {user}
logfile = {folder}/pgbouncer.log
default_pool_size = 20
max_client_conn = 400
server_tls_sslmode = disable
"""
"""Nothing is ignored or reset for the sake of those who connect: the defaults hold."""

OWN_PORT = 6432
"""Names the socket in a folder of its own; no TCP port is taken."""


def find_pgbouncer() -> str | None:
    """The pgbouncer that PGBOUNCER names, or the one on PATH; Debian's lies in /usr/sbin."""
    named = os.environ.get("PGBOUNCER")
    return shutil.which(named or "pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


@contextlib.contextmanager
def pooler(direct: str) -> Iterator[str]:
    """Lends a connection string that leads to the same server as `direct`, through a pooler.

    It runs as whoever PostgreSQL runs as, since it will not run as root. Raises RuntimeError if
    there is no pgbouncer, or if it does not start.
    """
    program = find_pgbouncer()
    if program is None:
        raise RuntimeError("there is no pgbouncer here; make test installs it where it may")
    target = conninfo_to_dict(direct)
    with tempfile.TemporaryDirectory(prefix="pooler-") as name:
        folder = Path(name)
        account = unprivileged_account(folder / "data", Path(program).parent)
        text = SETTINGS.format(
            host=target["host"],
            port=target["port"],
            own_port=OWN_PORT,
            folder=folder,
            user=target["user"],
        )
        (folder / "pgbouncer.ini").write_text(text)
        (folder / "users.txt").write_text(f'"{target["user"]}" ""\n')
        account.own(folder)
        process = subprocess.Popen(
            account.command([program, "--quiet", str(folder / "pgbouncer.ini")]),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **account.identity(),
        )
        try:
            through = make_conninfo(direct, host=name, port=OWN_PORT)
            _await_ready(process, through, folder / "pgbouncer.log")
            yield through
        finally:
            process.terminate()
            process.wait(PATIENCE_S)


def _await_ready(process: subprocess.Popen[bytes], through: str, log: Path) -> None:
    """Returns once it takes connections; nothing tells of that."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            psycopg.connect(through).close()
        except psycopg.OperationalError as error:
            if process.poll() is not None or time.monotonic() > deadline:
                said = log.read_text() if log.is_file() else ""
                raise RuntimeError(f"pgbouncer does not start: {error}\n{said}") from error
            time.sleep(0.02)
        else:
            return
