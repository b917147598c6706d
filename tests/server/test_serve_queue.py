"""`workers serve` with its own Valkey and a worker of the queue: beside the rest, or not at all."""

import contextlib
import json
import signal
import time
from pathlib import Path

import httpx
import psutil
import pytest

from server.serve import queue_server
from server.settings import Settings
from tests.server.program import PATIENCE_S, Program, await_end, family, gone


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory) -> Path:
    """A data folder that the tests of this file use one after the other."""
    return tmp_path_factory.mktemp("serve-queue")


@pytest.fixture
def start(data_dir, tmp_path):
    """Starts servers on the data folder, and ends what a failed test leaves."""
    programs = []

    def serve(*options: str, **environment: str) -> Program:
        program = Program(
            *("serve", "--port", "0", "--data-dir", str(data_dir), "--site", str(tmp_path)),
            *options,
            **environment,
        )
        programs.append(program)
        return program

    yield serve
    for program in programs:
        program.close()
    # It is a daemon, and so outlives whoever could not stop it.
    with contextlib.suppress(FileNotFoundError, psutil.NoSuchProcess):
        if "valkey-server" in " ".join(_valkey(data_dir).cmdline()):
            _valkey(data_dir).kill()


def _valkey(data_dir) -> psutil.Process:
    return psutil.Process(int((data_dir / "valkey" / "valkey.pid").read_text()))


def _said(program: Program, action: str) -> dict:
    """The line with this action word, whether it has been read already or is still to come."""
    for line in program.said:
        if line.startswith("{") and json.loads(line).get("action") == action:
            return json.loads(line)
    return program.until(action)


def _get(url: str, path: str) -> httpx.Response:
    """As the page of this server asks, and with patience."""
    return httpx.get(f"{url}{path}", headers={"Origin": url}, timeout=PATIENCE_S)


def _workers(program: Program) -> list[psutil.Process]:
    return [process for process in family(program) if "work" in process.cmdline()]


def _done(url: str, number: int) -> str:
    """Waits until the job that a delivery has become is done; its id."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        assert time.monotonic() < deadline, f"delivery {number} became no job that is done"
        shown = _get(url, f"/api/deliveries/{number}").json()
        for attempt in shown["attempts"]:
            if attempt["provider_id"] is None:
                continue
            if _get(url, f"/api/queue/jobs/{attempt['provider_id']}").json()["state"] == "done":
                return attempt["provider_id"]
        time.sleep(0.05)


@pytest.mark.timeout(300)
def test_jobs_run_beside_the_outbox_and_outlast_the_server(start, data_dir):
    """By the relay a delivery becomes a job that is done, and Ctrl-C ends Valkey and both workers.

    The job is there after the next start. Killed hard, a server leaves Valkey behind, its workers
    end by themselves, and the start after that takes Valkey over.
    """
    program = start()
    url = program.until("ready")["url"]
    assert "welcome_email" in _said(program, "queue-work")["tasks"]
    assert _get(url, "/api/readyz").json() == {"status": "ok", "queue": "ok"}
    body = {"channel": "queue", "recipient": "square", "payload": {"x": 7}}
    added = httpx.post(
        f"{url}/api/deliveries", json=body, headers={"Origin": url}, timeout=PATIENCE_S
    )
    assert added.status_code == 202, added.text
    id_ = _done(url, added.json()["ids"][0])
    everybody = [*family(program), _valkey(data_dir)]
    assert len(_workers(program)) == 2
    program.signal(signal.SIGINT)
    assert program.ended() == 0
    assert [process for process in everybody if not gone(process)] == []

    second = start()
    url = second.until("ready")["url"]
    assert _get(url, f"/api/queue/jobs/{id_}").json()["result"] == 49
    _said(second, "queue-work")
    _said(second, "start")
    workers, valkey = _workers(second), _valkey(data_dir)
    assert len(workers) == 2
    second.process.kill()
    second.ended()
    await_end(*workers)
    assert not gone(valkey)

    third = start()
    third.until("valkey-found")
    url = third.until("ready")["url"]
    assert _valkey(data_dir).pid == valkey.pid
    assert _get(url, f"/api/queue/jobs/{id_}").json()["result"] == 49
    third.signal(signal.SIGTERM)
    assert third.ended() == 0
    assert gone(valkey)


def test_a_valkey_that_does_not_start_leaves_the_rest(tmp_path, caplog):
    """The log says why and what to do, and there is no queue; without one wanted nothing starts."""
    settings = Settings(data_dir=tmp_path)
    with queue_server(settings, wanted=False) as url:
        assert url is None
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "valkey").write_text("no folder")
    with queue_server(settings, wanted=True) as url:
        assert url is None
    [line] = [line for line in caplog.records if getattr(line, "action", "") == "queue-off"]
    assert "everything else goes on: " in line.getMessage()
    assert "valkey" in line.getMessage()
