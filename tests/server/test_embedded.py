"""The embedded PostgreSQL: where it can live, and who starts and stops it."""

import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import psutil
import psycopg
import pytest

from server import embedded
from server.embedded import embedded_postgres
from server.errors import DatabaseError
from server.unprivileged import unprivileged_account
from tests.server.program import await_end, clean_environment, postmaster


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory) -> Path:
    """A data folder whose path is too long for a socket, with odd characters in it."""
    deep = tmp_path_factory.mktemp("embedded") / "a folder with 'quotes', spaces and ä" / ("x" * 80)
    return deep / "data"


def _answers(conninfo: str) -> bool:
    with psycopg.connect(conninfo) as connection:
        return connection.execute("select 1").fetchone() == (1,)


def test_a_deep_path_gets_its_socket_elsewhere(data_dir):
    """In a private folder that is gone afterwards. No port is listened on."""
    with embedded_postgres(data_dir) as conninfo:
        assert _answers(conninfo)
        sockets = Path(psycopg.conninfo.conninfo_to_dict(conninfo)["host"])
        assert sockets.parent != data_dir
        assert sockets.stat().st_mode & 0o777 == 0o700
        assert not [c for c in postmaster(data_dir).net_connections() if c.status == "LISTEN"
                    and c.family.name.startswith("AF_INET")]  # fmt: skip
    assert not sockets.exists()
    assert not (data_dir / "postgres" / "postmaster.pid").exists()


def test_the_data_survives(data_dir):
    """And the second start makes no new database."""
    with embedded_postgres(data_dir) as conninfo, psycopg.connect(conninfo) as connection:
        connection.execute("create table kept (n int)")
    with embedded_postgres(data_dir) as conninfo, psycopg.connect(conninfo) as connection:
        assert connection.execute("select count(*) from kept").fetchone() == (0,)


def test_the_last_user_stops_it(data_dir):
    """Not the one who started it."""
    with embedded_postgres(data_dir) as conninfo:
        server = postmaster(data_dir)
        with embedded_postgres(data_dir) as same:
            assert same == conninfo
        assert _answers(conninfo)
    await_end(server)


def test_many_who_start_at_once_share_one(data_dir):
    """One starts it, the others find it."""
    pids = []
    gate = threading.Barrier(4)

    def use() -> None:
        gate.wait()
        with embedded_postgres(data_dir) as conninfo:
            assert _answers(conninfo)
            pids.append(postmaster(data_dir).pid)
            gate.wait()

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(pids) == 4
    assert len(set(pids)) == 1


def test_a_number_that_belongs_to_another_process_is_not_believed(tmp_path):
    """After a restart of the machine the number in postmaster.pid may be anybody's.

    PostgreSQL itself would refuse to start if that process is of the same user, as here.
    """
    data = tmp_path / "postgres"
    with embedded_postgres(tmp_path):
        text = (data / "postmaster.pid").read_text()
    own = {"user": data.stat().st_uid} if os.geteuid() == 0 else {}
    with subprocess.Popen(["/bin/sleep", "600"], **own) as stranger:
        try:
            stale = "\n".join([str(stranger.pid), *text.splitlines()[1:]]) + "\n"
            for name in ("postmaster.pid", ".s.PGSQL.5432.lock"):
                (data / name).write_text(stale)
            with embedded_postgres(tmp_path) as conninfo:
                assert _answers(conninfo)
                assert postmaster(tmp_path).pid != stranger.pid
            assert stranger.poll() is None
        finally:
            stranger.kill()


def test_an_interrupted_making_is_begun_anew(tmp_path):
    """A folder that initdb had not finished is not taken for a database."""
    unfinished = tmp_path / "postgres.unfinished"
    unfinished.mkdir()
    (unfinished / "PG_VERSION").write_text("18")
    with embedded_postgres(tmp_path) as conninfo:
        assert _answers(conninfo)
    assert not unfinished.exists()


def test_foreign_files_are_left_alone(tmp_path):
    """A folder of that name with something else in it is not overwritten."""
    (tmp_path / "postgres").mkdir()
    (tmp_path / "postgres" / "notes.txt").write_text("mine")
    with (
        pytest.raises(DatabaseError, match="holds files but no database"),
        embedded_postgres(tmp_path),
    ):
        pass
    assert (tmp_path / "postgres" / "notes.txt").read_text() == "mine"


def test_another_version_is_refused(tmp_path):
    """Said in a sentence, before PostgreSQL says it in many."""
    (tmp_path / "postgres").mkdir()
    (tmp_path / "postgres" / "PG_VERSION").write_text("16\n")
    with (
        pytest.raises(DatabaseError, match="made by PostgreSQL 16, this is 18"),
        embedded_postgres(tmp_path),
    ):
        pass


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes somebody else")
def test_as_root_it_runs_as_another_even_in_a_private_folder(tmp_path_factory):
    """A clone under /root: no permission is widened for it."""
    private = tmp_path_factory.mktemp("private")
    private.chmod(0o700)
    with embedded_postgres(private / "data") as conninfo:
        assert _answers(conninfo)
        assert postmaster(private / "data").uids().effective != 0
    assert private.stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can try being somebody else")
def test_as_another_user_it_says_whose_the_data_are():
    """Data that root's run made belong to `postgres` or `nobody`."""
    script = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from server.unprivileged import unprivileged_account\n"
        "os.setuid(4242)\n"
        "unprivileged_account(Path(sys.argv[1]), Path('/bin'))"
    )
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "postgres"
        data.mkdir()
        data.parent.chmod(0o755)
        unprivileged_account(data, Path("/bin")).own(data)
        done = subprocess.run(
            [sys.executable, "-c", script, str(data)],
            env=clean_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
    assert "belongs to another user" in done.stderr, done.stderr


def test_without_the_wheel_the_way_round_is_named(monkeypatch):
    """A platform for which there is no wheel can use its own PostgreSQL."""
    monkeypatch.setattr(embedded, "find_spec", lambda _name: None)
    with pytest.raises(DatabaseError) as caught:
        embedded._binaries()  # noqa: SLF001 - what is asked when the wheel is missing
    assert "DATABASE_URL" in (caught.value.hint or "")


def test_nothing_of_these_tests_is_left(data_dir):
    """No PostgreSQL of this folder runs any more."""
    left = [
        process
        for process in psutil.process_iter(["cmdline"])
        if str(data_dir / "postgres") in (process.info["cmdline"] or [])
    ]
    assert left == []
