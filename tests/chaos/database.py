"""A PostgreSQL of the run's own, that can be restarted in the two ways in which it goes down."""

from __future__ import annotations

import contextlib
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
from psycopg.conninfo import conninfo_to_dict

from server import embedded
from server.unprivileged import unprivileged_account
from tests.server.program import await_end


class Database:
    """`conninfo` leads to it directly, past every proxy; `socket` is the path of its socket.

    `addresses` are those on which it listens over TCP as well, for whoever comes.
    """

    def __init__(self, folder: Path, *, addresses: str = "") -> None:
        binaries = embedded._binaries()  # noqa: SLF001 - the one place that knows where they are
        data = folder / "postgres"
        account = unprivileged_account(data, binaries)
        self._cluster = embedded.Cluster(data, binaries, account, addresses=addresses)
        self._data = data
        self.conninfo = self._cluster.ensure_running()
        if addresses:
            with (data / "pg_hba.conf").open("a", encoding="utf-8") as rules:
                rules.write("host all all all trust\n")
            with psycopg.connect(self.conninfo, autocommit=True) as connection:
                connection.execute("select pg_reload_conf()")

    @property
    def socket(self) -> str:
        """Where the proxies connect to."""
        parts = conninfo_to_dict(self.conninfo)
        return f"{parts['host']}/.s.PGSQL.{parts['port']}"

    def restart_fast(self) -> None:
        """Ends every session and shuts down in good order, then starts."""
        self._cluster.stop()
        self._start()

    def restart_immediate(self) -> None:
        """Stops as in a crash, without a checkpoint, then starts and recovers from the log."""
        pid = int((self._data / "postmaster.pid").read_text().splitlines()[0])
        postmaster = psutil.Process(pid)
        postmaster.send_signal(signal.SIGQUIT)
        await_end(postmaster)
        self._start()

    def _start(self) -> None:
        started = self._cluster.ensure_running()
        if started != self.conninfo:
            raise RuntimeError(f"PostgreSQL came back elsewhere: {started}")

    def close(self) -> None:
        """Stops it."""
        self._cluster.stop()


@contextlib.contextmanager
def own_database(*, addresses: str = "") -> Iterator[Database]:
    """Lends a database in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        database = Database(Path(folder), addresses=addresses)
        try:
            yield database
        finally:
            database.close()
