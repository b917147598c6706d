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


def _done(url: str, number: int) -> str:
    """Waits until the job that a delivery has become is done; its id."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        assert time.monotonic() < deadline, f"delivery {number} became no job that is done"
        shown = httpx.get(f"{url}/api/deliveries/{number}", headers={"Origin": url}).json()
        for attempt in shown["attempts"]:
            if attempt["provider_id"] is None:
                continue
            place = f"{url}/api/queue/jobs/{attempt['provider_id']}"
            if httpx.get(place, headers={"Origin": url}).json()["state"] == "done":
                return attempt["provider_id"]
        time.sleep(0.05)


def test_jobs_run_beside_the_outbox_and_ctrl_c_ends_all(start, data_dir):
    """A delivery becomes a job by the relay, the job is done, and all of it is there afterwards.

    Valkey and both workers have ended by then.
    """
    program = start()
    url = program.until("ready")["url"]
    assert "welcome_email" in program.until("queue-work")["tasks"]
    assert httpx.get(f"{url}/api/readyz").json() == {"status": "ok", "queue": "ok"}
    body = {"channel": "queue", "recipient": "square", "payload": {"x": 7}}
    added = httpx.post(f"{url}/api/deliveries", json=body, headers={"Origin": url})
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
    workers = [p for p in family(program) if "work" in p.cmdline()]
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
    assert httpx.get(f"{url}/api/readyz").json()["queue"] == "ok"
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
        program.until("start")
        assert httpx.get(f"{url}/api/readyz").json() == {"status": "ok", "queue": "off"}
        job = httpx.get(f"{url}/api/queue/jobs/1", headers={"Origin": url})
        assert job.status_code == 503
        assert len([p for p in family(program) if "work" in p.cmdline()]) == 1
        program.signal(signal.SIGINT)
        assert program.ended() == 0
    finally:
        folder.unlink()
        aside.rename(folder)


def test_no_queue_starts_none(start, data_dir):
    """Neither a Valkey nor a worker for it."""
    program = start("--no-queue")
    url = program.until("ready")["url"]
    program.until("start")
    assert httpx.get(f"{url}/api/readyz").json() == {"status": "ok", "queue": "off"}
    assert not (data_dir / "valkey" / "valkey.pid").exists()
    assert len([p for p in family(program) if "work" in p.cmdline()]) == 1
    program.signal(signal.SIGINT)
    assert program.ended() == 0
