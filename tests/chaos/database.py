"""A PostgreSQL of the run's own, that can be restarted in the two ways in which it goes down."""

from __future__ import annotations

import contextlib
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

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

    def standby(self) -> Standby:
        """A second server that has each commit before it is acknowledged, and can take over."""
        return Standby(self._cluster, self)

    def crash(self) -> None:
        """Stops as in a crash, and stays away."""
        pid = int((self._data / "postmaster.pid").read_text().splitlines()[0])
        postmaster = psutil.Process(pid)
        postmaster.send_signal(signal.SIGQUIT)
        await_end(postmaster)

    def restart_fast(self) -> None:
        """Ends every session and shuts down in good order, then starts."""
        self._cluster.stop()
        self._start()

    def restart_immediate(self) -> None:
        """Stops as in a crash, without a checkpoint, then starts and recovers from the log."""
        self.crash()
        self._start()

    def _start(self) -> None:
        started = self._cluster.ensure_running()
        if started != self.conninfo:
            raise RuntimeError(f"PostgreSQL came back elsewhere: {started}")

    def close(self) -> None:
        """Stops it."""
        self._cluster.stop()


class Standby:
    """A hot standby of a primary, synchronous: what the primary has acknowledged is here too."""

    def __init__(self, cluster: embedded.Cluster, primary: Database) -> None:
        self._run = cluster._run  # noqa: SLF001 - the same programs under the same account
        self._data = cluster.data.with_name("standby")
        parts = conninfo_to_dict(primary.conninfo)
        self.conninfo = make_conninfo(primary.conninfo, host=str(self._data))
        copy = ("-D", str(self._data), "--write-recovery-conf", "--checkpoint=fast", "--no-sync")
        self._run("pg_basebackup", *copy, "-h", str(parts["host"]), "-U", str(parts["user"]))
        (self._data / ".s.PGSQL.5432.lock").unlink()  # the primary's, copied along
        options = f"-c listen_addresses='' -c unix_socket_directories='{self._data}'"
        log = ("-l", str(self._data / "server.log"))
        self._run("pg_ctl", "start", "-D", str(self._data), *log, "-o", options, "-w")
        with psycopg.connect(primary.conninfo, autocommit=True) as connection:
            connection.execute("alter system set synchronous_standby_names = '*'")
            connection.execute("select pg_reload_conf()")

    def promote(self) -> None:
        """Makes it the primary, which waits for no standby of its own."""
        self._run("pg_ctl", "promote", "-D", str(self._data), "-w")
        with psycopg.connect(self.conninfo, autocommit=True) as connection:
            connection.execute("alter system reset synchronous_standby_names")
            connection.execute("select pg_reload_conf()")

    def close(self) -> None:
        """Stops it."""
        self._run("pg_ctl", "stop", "-D", str(self._data), "-m", "immediate", "-w")


@contextlib.contextmanager
def own_database(*, addresses: str = "") -> Iterator[Database]:
    """Lends a database in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        database = Database(Path(folder), addresses=addresses)
        try:
            yield database
        finally:
            database.close()
