"""`workers queue` on series and on what is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
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
