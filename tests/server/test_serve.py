"""`workers serve` with its own PostgreSQL: how it starts, how it ends, and what it survives."""

import json
import signal
import socket
from pathlib import Path

import httpx
import psutil
import pytest

from tests.server.program import PATIENCE_S, Program, await_end, family, gone, postmaster, run


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory) -> Path:
    """A data folder that the tests of this file use one after the other."""
    return tmp_path_factory.mktemp("serve")


@pytest.fixture
def start(data_dir, tmp_path):
    """Starts servers on the data folder, and ends what a failed test leaves."""
    programs = []

    def serve(*options: str, **environment: str) -> Program:
        program = Program(
            *("serve", "--port", "0", "--data-dir", str(data_dir), "--site", str(tmp_path)),
            "--no-queue",  # test_serve_queue.py has it
            *options,
            **environment,
        )
        programs.append(program)
        return program

    yield serve
    for program in programs:
        program.close()


def _ready(program: Program) -> str:
    """Waits until the server and its worker are up; returns where the server is."""
    url = program.until("ready")["url"]
    program.until("start")
    return url


def test_ctrl_c_stops_every_child(start, data_dir):
    """PostgreSQL and the worker included, and the exit code is that of success.

    With --no-queue there is no Valkey and no worker for it.
    """
    program = start()
    url = _ready(program)
    assert httpx.get(f"{url}/api/readyz", timeout=PATIENCE_S).json() == {
        "status": "ok",
        "queue": "off",
    }
    assert not (data_dir / "valkey").exists()
    everybody = [*family(program), postmaster(data_dir)]
    everybody += everybody[-1].children()
    assert len(everybody) > 5
    program.signal(signal.SIGINT)
    assert program.ended() == 0
    assert [p for p in everybody if not gone(p)] == []


def test_sigterm_does_the_same(start, data_dir):
    """As a service manager ends it."""
    program = start()
    _ready(program)
    server = postmaster(data_dir)
    program.signal(signal.SIGTERM)
    assert program.ended() == 0
    assert gone(server)


def test_after_kill_9_of_the_server_the_next_start_takes_over(start, data_dir):
    """The worker ends by itself, PostgreSQL is found running, the data is there, and all ends."""
    program = start()
    url = _ready(program)
    _enqueue(url, 3)
    worker = next(p for p in family(program) if "work" in p.cmdline())
    server = postmaster(data_dir)
    program.process.kill()
    program.ended()
    await_end(worker)
    assert not gone(server)

    again = start()
    again.until("postgres-found")
    url = _ready(again)
    assert postmaster(data_dir).pid == server.pid
    assert _known(url) >= 3
    again.signal(signal.SIGINT)
    assert again.ended() == 0
    assert gone(server)


def test_after_a_power_cut_the_next_start_recovers(start, data_dir):
    """Everything was killed at once: the stale postmaster.pid is not believed."""
    program = start()
    url = _ready(program)
    _enqueue(url, 2)
    before = _known(url)
    everybody = [*family(program), postmaster(data_dir), *postmaster(data_dir).children()]
    for process in everybody:
        if not gone(process):
            process.kill()
    program.ended()
    await_end(*everybody)
    assert (data_dir / "postgres" / "postmaster.pid").exists()

    again = start()
    assert _known(_ready(again)) == before
    again.signal(signal.SIGINT)
    assert again.ended() == 0


def test_a_second_server_on_the_same_folder_is_refused(start, data_dir):
    """It says where the first one is, and does not disturb it."""
    program = start()
    url = _ready(program)
    second = run("serve", "--port", "0", "--data-dir", str(data_dir))
    assert second.returncode == 1
    assert "already runs" in second.stderr
    assert url in second.stderr
    assert httpx.get(f"{url}/api/readyz", timeout=PATIENCE_S).status_code == 200
    program.signal(signal.SIGINT)
    assert program.ended() == 0


def test_a_port_in_use_is_said_before_anything_is_started(data_dir):
    """With the option that helps; no database was started for it."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = run("serve", "--port", str(port), "--data-dir", str(data_dir))
    assert refused.returncode == 1
    assert f"port {port} on 127.0.0.1 is in use" in refused.stderr
    assert f"--port {port + 1}" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not (data_dir / "postgres" / "postmaster.pid").exists()


def test_other_commands_find_the_running_database(start, data_dir):
    """And leave it running; without one they start it for the time of the command."""
    program = start("--no-worker")
    url = program.until("ready")["url"]
    added = run("enqueue", "--count", "2", "--data-dir", str(data_dir))
    assert (added.returncode, len(added.stdout.split())) == (0, 2)
    shown = json.loads(run("depth", "--json", "--data-dir", str(data_dir)).stdout)
    served = httpx.get(f"{url}/api/queue/depth", timeout=PATIENCE_S).json()
    for document in (shown, served):
        document.pop("as_of")
        assert document.pop("oldest_due_age_s") > 0
    assert shown == served
    assert served["pending"]["due"] == 2
    program.signal(signal.SIGINT)
    assert program.ended() == 0

    alone = run("depth", "--json", "--data-dir", str(data_dir))
    assert json.loads(alone.stdout)["pending"]["total"] == 2
    assert not (data_dir / "postgres" / "postmaster.pid").exists()


def test_a_command_that_ends_does_not_stop_the_servers_database(start, data_dir):
    """The last user stops it, whoever started it: here a drain did, and the server goes on."""
    holder = Program("work", "--data-dir", str(data_dir))
    try:
        holder.until("start")
        server = postmaster(data_dir)
        program = start("--no-worker")
        url = program.until("ready")["url"]
        holder.signal(signal.SIGTERM)
        assert holder.ended() == 0
        assert not gone(server)
        assert httpx.get(f"{url}/api/readyz", timeout=PATIENCE_S).status_code == 200
        program.signal(signal.SIGINT)
        assert program.ended() == 0
        assert gone(server)
    finally:
        holder.close()


def test_a_worker_that_crashes_is_started_again(start):
    """After a pause, by the server."""
    program = start()
    _ready(program)
    worker = next(p for p in family(program) if "work" in p.cmdline())
    worker.kill()
    assert program.until("worker-crash")["exit_code"] == -signal.SIGKILL
    pid = program.until("worker-start")["pid"]
    assert psutil.pid_exists(pid)
    program.signal(signal.SIGINT)
    assert program.ended() == 0


def _enqueue(url: str, count: int) -> None:
    body = {"payload": {"text": "x"}, "count": count}
    where, headers = f"{url}/api/deliveries", {"Origin": url}
    answer = httpx.post(where, json=body, headers=headers, timeout=PATIENCE_S)
    assert answer.status_code == 202, answer.text


def _known(url: str) -> int:
    document = httpx.get(f"{url}/api/queue/depth", timeout=PATIENCE_S).json()
    return document["pending"]["total"] + document["processing"] + document["sent"]
