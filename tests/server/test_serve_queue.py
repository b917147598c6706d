"""`workers serve` with its own Valkey and a worker of the queue: beside the rest, or not at all."""

import json
import signal
import time
from pathlib import Path

import httpx
import psutil
import pytest

from tests.server.program import PATIENCE_S, Program, await_end, family, gone, run

WAY_ROUND = "everything else goes on"


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


def test_jobs_run_beside_the_outbox_and_ctrl_c_ends_all(start, data_dir):
    """A delivery becomes a job by the relay, the job is done, and all of it is there afterwards.

    Valkey and both workers have ended by then.
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
    assert len(everybody) >= 4
    program.signal(signal.SIGINT)
    assert program.ended() == 0
    assert [process for process in everybody if not gone(process)] == []

    shown = run("queue", "show", id_, "--data-dir", str(data_dir))
    assert json.loads(shown.stdout)["result"] == 49, shown.stderr


def test_after_kill_9_of_the_server_the_next_start_takes_valkey_over(start, data_dir):
    """Its worker ends by itself; what was enqueued meanwhile is there and runs."""
    program = start()
    program.until("queue-work")
    _said(program, "start")
    workers = _workers(program)
    assert len(workers) == 2
    valkey = _valkey(data_dir)
    program.process.kill()
    program.ended()
    await_end(*workers)
    assert not gone(valkey)

    again = start()
    again.until("valkey-found")
    url = again.until("ready")["url"]
    assert _valkey(data_dir).pid == valkey.pid
    assert _get(url, "/api/readyz").json()["queue"] == "ok"
    again.signal(signal.SIGTERM)
    assert again.ended() == 0
    assert gone(valkey)


def test_a_valkey_that_does_not_start_leaves_the_rest(start, data_dir):
    """The log says why and what to do; the page and the outbox work, and nothing is left behind."""
    folder = data_dir / "valkey"
    aside = folder.rename(data_dir / "valkey-aside")
    folder.write_text("no folder")
    try:
        program = start()
        assert WAY_ROUND in program.until("queue-off")["event"]
        url = program.until("ready")["url"]
        _said(program, "start")
        assert _get(url, "/api/readyz").json() == {"status": "ok", "queue": "off"}
        assert _get(url, "/api/queue/jobs/1").status_code == 503
        assert len(_workers(program)) == 1
        program.signal(signal.SIGINT)
        assert program.ended() == 0
    finally:
        folder.unlink()
        aside.rename(folder)
