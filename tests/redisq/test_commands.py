"""`workers queue` on series and on what is kept."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from typer.testing import CliRunner

from server.cli import app
from tests.redisq.servers import server


@pytest.fixture
def say(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a command, and returns its exit code and what it printed."""
    with server(engine) as made:
        monkeypatch.setenv("REDIS_URL", f"unix://{made.socket}")
        monkeypatch.setenv("WORKERS_DATA_DIR", str(tmp_path))
        monkeypatch.delenv("WORKERS_QUEUE_ENGINE", raising=False)

        def run(*words: str) -> tuple[int, str]:
            result = CliRunner().invoke(app, ["queue", *words])
            return result.exit_code, result.output

        yield run


def test_a_series_is_made_listed_changed_and_ended(say: Any) -> None:
    """And what cannot be is refused in a sentence."""
    cron = ["--cron", "0 6 * * mon-fri", "--timezone", "Europe/Berlin"]
    assert say("repeat", "report", "report_pdf", *cron) == (0, "")
    assert say("repeat", "beat", "square", '{"x": 7}', "--every", "60") == (0, "")
    code, said = say("repeats")
    series = {one["name"]: one for one in json.loads(said)}
    assert code == 0
    assert (series["beat"]["every_s"], series["beat"]["payload"]) == (60, {"x": 7})
    assert (series["report"]["cron"], series["report"]["timezone"]) == (cron[1], cron[3])
    assert all(one["next_ms"] for one in series.values())
    code, said = say("repeat", "report", "report_pdf", "--cron", "0 25 * * *")
    assert (code, "hour" in said) == (2, True)
    assert say("unrepeat", "report") == (0, "")
    code, said = say("unrepeat", "report")
    assert (code, "no series report" in said) == (1, True)


def test_jobs_are_purged_by_what_they_are(say: Any) -> None:
    """Others stay."""
    for task in ("square", "square", "sleep"):
        say("enqueue", task)
    code, said = say("purge", "ready", "--task", "square")
    assert (code, json.loads(said)) == (0, {"looked": 3, "gone": 2})
    code, said = say("purge", "ready", "--older", "3600")
    assert (code, json.loads(said)) == (0, {"looked": 1, "gone": 0})
    code, _ = say("purge", "active")
    assert code == 2


def test_how_much_is_kept_is_said_while_it_works(say: Any) -> None:
    """By number, time and bytes; 0 takes it back."""
    with Redis.from_url(os.environ["REDIS_URL"]) as client:
        assert say("keep", "--done", "7", "--done-s", "60", "--done-bytes", "1000") == (0, "")
        fields = ("keep_done", "keep_done_ms", "keep_bytes", "keep_dead")
        assert client.hmget("jq:{default}:meta", fields) == [b"7", b"60000", b"1000", None]
        assert say("keep", "--done", "0", "--dead", "5") == (0, "")
        assert client.hmget("jq:{default}:meta", fields) == [None, b"60000", b"1000", b"5"]
    assert say("keep")[0] == 2
