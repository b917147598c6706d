"""The commands: what they print, and how they end."""

import asyncio
import io
import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from PIL import Image
from typer.testing import CliRunner

from server.app import create_app
from server.cli import app
from server.errors import SettingsError
from server.settings import Settings, load_settings
from tests.server.conftest import listening
from tests.server.program import Program, clean_environment, run

COMMANDS = ["serve", "work", "drain", "depth", "purge", "enqueue", "migrate", "histogram"]
GROUPS = {
    "deliveries": ["list", "show", "retry", "cancel"],
    "channels": ["list", "pause", "resume"],
    "jobs": ["list", "run", "history", "cancel"],
    "queue": [
        *("work", "enqueue", "depth", "list", "show", "retry", "promote", "cancel", "delete"),
        *("pause", "resume", "limit", "audit", "repeat", "repeats", "unrepeat", "purge", "keep"),
    ],
}
IN_GROUPS = [f"{group} {command}" for group, commands in GROUPS.items() for command in commands]


@pytest.mark.parametrize("command", COMMANDS + IN_GROUPS)
def test_help_has_examples(command):
    """Each on a line of its own, and each calls the command."""
    result = CliRunner().invoke(app, [*command.split(), "--help"])
    assert result.exit_code == 0
    examples = re.split("Options:|Arguments:", result.output.split("Examples:")[1])[0]
    lines = [line.strip() for line in examples.splitlines() if line.strip()]
    assert lines
    assert all(f"workers {command}" in line for line in lines), lines


def test_every_command_is_listed():
    """And no others."""
    result = CliRunner().invoke(app, ["--help"])
    listed = re.findall(r"^  (\w+)  ", result.output.split("Commands:")[1], flags=re.MULTILINE)
    assert sorted(listed) == sorted([*COMMANDS, *GROUPS])
    for group, commands in GROUPS.items():
        result = CliRunner().invoke(app, [group, "--help"])
        listed = re.findall(r"^  (\w+)  ", result.output.split("Commands:")[1], flags=re.MULTILINE)
        assert sorted(listed) == sorted(commands)


def test_a_lease_that_a_send_can_outlive_is_refused_at_start():
    """With the figures, and without a traceback."""
    refused = run("depth", WORKERS_LEASE_S="20")
    assert refused.returncode == 2
    assert "could outlive its lease" in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("WORKERS_PORT", "http"),
        ("WORKERS_PORT", "70000"),
        ("WORKERS_BATCH", "0"),
        ("WORKERS_BACKOFF_S", "30,soon"),
        ("WORKERS_TIME_SCALE", "2"),
        ("WORKERS_LAB", "maybe"),
        ("WORKERS_HOST", ""),
    ],
)
def test_a_wrong_setting_is_named(name, value, monkeypatch):
    """By the variable that somebody has to change."""
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=name) as caught:
        load_settings()
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    "name",
    ["lease_s", "backoff_s", "poll_s", "send_margin_s", "stop_s", "keep_sent_days"],
)
@pytest.mark.parametrize("value", ["inf", "1e12"])
def test_a_span_beyond_all_calendars_is_refused(name, value, monkeypatch):
    """PostgreSQL would fail at it later, again and again."""
    monkeypatch.setenv(f"WORKERS_{name.upper()}", value)
    with pytest.raises(SettingsError):
        load_settings()


def test_settings_come_from_the_environment(monkeypatch):
    """A list is separated by commas, and what is given on the command line wins."""
    monkeypatch.setenv("WORKERS_BACKOFF_S", "1,2.5")
    monkeypatch.setenv("WORKERS_PORT", "9000")
    monkeypatch.setenv("DATABASE_URL", "postgresql:///mine")
    settings = load_settings(port=9001, host=None)
    assert settings.backoff_s == (1.0, 2.5)
    assert (settings.port, settings.host) == (9001, "127.0.0.1")
    assert settings.database_url == "postgresql:///mine"


def test_a_database_that_cannot_be_reached_is_said_clearly():
    """In a sentence, with what to check."""
    refused = run("depth", DATABASE_URL="postgresql://127.0.0.1:1/none")
    assert refused.returncode == 1
    assert "cannot be reached" in refused.stderr
    assert "DATABASE_URL" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_drain_reports_and_its_exit_code_says_whether_anything_is_left(database):
    """0 when nothing is due any more, 3 when time ran out."""
    quick = {"DATABASE_URL": database, "WORKERS_PAGE_SEND_S": "0"}
    run("enqueue", "--count", "30", **quick)
    run("enqueue", "--count", "2", "--delay", "3600", **quick)
    drained = run("drain", **quick)
    report = json.loads(drained.stdout)
    assert (drained.returncode, report["finished"], report["done"]["sent"]) == (0, True, 30)
    assert (report["left"]["due"], report["left"]["waiting"]) == (0, 2)
    assert report["left"]["next_due_at"]

    run("enqueue", "--count", "30", **quick)
    slow = quick | {"WORKERS_PAGE_SEND_S": "0.6", "WORKERS_SEND_TIMEOUT_S": "1"}
    cut = run("drain", "--max-seconds", "1.5", **slow)
    report = json.loads(cut.stdout)
    assert (cut.returncode, report["finished"]) == (3, False)
    assert report["done"]["sent"] + report["left"]["due"] == 30
    # None, if the machine stood still before the first ten.
    assert report["done"]["sent"] in {0, 10}


def test_enqueue_with_a_key_adds_once(database):
    """The same ids the second time."""
    options = ("enqueue", "--text", "once", "--count", "2", "--key", "order-17")
    first, second = (run(*options, DATABASE_URL=database).stdout for _ in range(2))
    assert first == second
    assert len(first.split()) == 2


def test_enqueue_takes_every_channel(database):
    """The payload as an option or from standard input."""
    hook = ["--channel", "webhook", "--recipient", "https://hooks.example.org/x"]
    sent = run("enqueue", *hook, "--payload", '{"a": [1, "ä"]}', DATABASE_URL=database)
    assert (sent.returncode, sent.stdout, sent.stderr) == (0, "1\n", "")
    shown = json.loads(run("deliveries", "show", "1", DATABASE_URL=database).stdout)
    assert shown["delivery"]["recipient"] == "https://hooks.example.org/x"
    assert shown["payload"] == {"a": [1, "ä"]}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--channel", "fax", "--payload", "{}"], "--channel: must be one of"),
        (["--channel", "email"], "--payload: needed"),
        (["--channel", "email", "--recipient", "x", "--payload", "{}"], "--payload subject: "),
        (["--channel", "webhook", "--recipient", "http://a.b", "--payload", "{}"], "--recipient: "),
        (["--channel", "webhook", "--recipient", "https://[::1]", "--payload", "{}"], "loopback"),
        (["--payload", "{"], "--payload: is no JSON"),
        (["--payload", "[]"], "--payload: "),
        (["--payload", '{"text": NaN}'], "--payload text: "),
        (["--text", "x", "--payload", "{}"], "give one of them"),
        (["--text", ""], "--text: "),
        (["--text", "x" * 501], "--text: "),
        (["--delay", "inf"], "'--delay'"),
        (["--key", ""], "--key: "),
    ],
    ids=lambda value: " ".join(value)[:50] if isinstance(value, list) else "",
)
@pytest.mark.usefixtures("root_logger")
def test_enqueue_names_the_option_at_fault(options, said, tmp_path):
    """Before a database is asked, or started."""
    result = CliRunner().invoke(app, ["enqueue", "--data-dir", str(tmp_path / "data"), *options])
    assert result.exit_code == 2
    assert said in result.stderr
    assert not (tmp_path / "data").exists()


def test_a_drain_says_for_what_it_had_too_little_time(database):
    """In its report and in a sentence, and the page's deliveries go out."""
    mail = {"WORKERS_EMAIL_HOST": "127.0.0.1", "WORKERS_EMAIL_SENDER": "a@example.org"}
    given = mail | {"DATABASE_URL": database, "WORKERS_PAGE_SEND_S": "0"}
    letter = ["--recipient", "b@example.org", "--payload", '{"subject": "x", "text": "x"}']
    run("enqueue", "--channel", "email", *letter, **given)
    run("enqueue", "--count", "3", **given)
    drained = run("drain", "--max-seconds", "20", **given)
    report = json.loads(drained.stdout)
    assert (drained.returncode, report["finished"], report["done"]["sent"]) == (3, False, 3)
    assert report["too_short_for"] == {"email": 37.5}
    assert "email: left, since a send may take 37.5 s" in drained.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the device is Linux's")
@pytest.mark.parametrize(
    "command",
    [["depth", "--json"], ["deliveries", "list"]],
    ids=" ".join,
)
def test_output_that_cannot_be_written_is_said_clearly(command, module_database):
    """Whatever prints it."""
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "server", *command],
            env=clean_environment() | {"DATABASE_URL": module_database},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        ["channels", "pause", "\udcff"],
        ["channels", "pause", "x", "--reason", "\udcff"],
        ["deliveries", "list", "--channel", "\udcff"],
        ["deliveries", "list", "--cursor", "x"],
    ],
    ids=ascii,
)
@pytest.mark.usefixtures("root_logger")
def test_what_is_no_text_or_no_cursor_is_a_wrong_call(command, module_database, monkeypatch):
    """Exit code 2, and no traceback."""
    monkeypatch.setenv("DATABASE_URL", module_database)
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 2
    assert result.stderr.startswith("workers: ")


INTERRUPTING = """
import os, runpy, signal, sys

class Impatient:
    def find_spec(self, name, path=None, target=None):
        if name == "psycopg":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Impatient())
runpy.run_module("server", run_name="__main__")
"""


def test_ctrl_c_while_it_is_being_loaded_ends_it_quietly():
    """Loading takes a second, and somebody who mistyped does not wait for it."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTING, "depth"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def test_migrate_says_what_it_did(empty_database):
    """And that there is nothing to do the second time."""
    first, second = (run("migrate", DATABASE_URL=empty_database).stdout for _ in range(2))
    assert "applied 0001_deliveries" in first
    assert second == "nothing to do\n"


async def test_depth_and_the_api_agree_while_a_thousand_drain(site, database):
    """What the command says lies between what the API said before and after, state by state."""
    settings = Settings(site=site, DATABASE_URL=database)
    environment = {"DATABASE_URL": database, "WORKERS_PAGE_SEND_S": "0.02"}
    await asyncio.to_thread(lambda: run("enqueue", "--count", "1000", **environment))
    async with listening(create_app(settings, database)) as client:
        worker = None
        try:
            while True:
                before = await _depth(client)
                shown = await _shown(database)
                worker = worker or Program("work", **environment)
                after = await _depth(client)
                for document in (before, shown, after):
                    assert _total(document) == 1000
                assert before["sent"] <= shown["sent"] <= after["sent"]
                assert before["pending"]["total"] >= shown["pending"]["total"]
                assert shown["pending"]["total"] >= after["pending"]["total"]
                if before["sent"] == 1000:
                    break
            assert {k: v for k, v in shown.items() if k != "as_of"} == {
                k: v for k, v in after.items() if k != "as_of"
            }
            worker.signal(signal.SIGTERM)
            assert await asyncio.to_thread(worker.ended) == 0
        finally:
            if worker:
                worker.close()


async def _depth(client: httpx.AsyncClient) -> dict[str, object]:
    return (await client.get("/api/queue/depth")).json()


async def _shown(database: str) -> dict[str, object]:
    done = await asyncio.to_thread(lambda: run("depth", "--json", DATABASE_URL=database))
    return json.loads(done.stdout)


def _total(document) -> int:
    states = ("processing", "sent", "failed", "dead")
    return document["pending"]["total"] + sum(document[state] for state in states)


def _png() -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (4, 2), (255, 0, 128)).save(out, "PNG")
    return out.getvalue()


def test_histogram_prints_the_same_function_as_json(tmp_path):
    """A picture of one colour has that colour in its palette."""
    path = tmp_path / "pink.png"
    path.write_bytes(_png())
    done = run("histogram", str(path), "--method", "loop", "--colours", "1")
    document = json.loads(done.stdout)
    assert (done.returncode, document["schema"]) == (0, 1)
    assert document["counted"]["pixels"] == 8
    assert document["palette"][0]["hex"] == "#ff0080"


def test_histogram_of_something_else_is_a_typed_failure(tmp_path):
    """The sentence on stderr, the facts as JSON on stdout, exit code 1."""
    path = tmp_path / "text.png"
    path.write_text("not a picture")
    done = run("histogram", str(path))
    assert done.returncode == 1
    error = json.loads(done.stdout)["error"]
    assert error["code"] == "not-an-image"
    assert error["message"] in done.stderr
    assert "Traceback" not in done.stderr


def test_histogram_of_a_file_that_is_not_there(tmp_path):
    """Said without a traceback."""
    done = run("histogram", str(tmp_path / "none.png"))
    assert done.returncode == 1
    assert "cannot read" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_connection_string_that_is_none_is_named():
    """Every command reads the setting before it does anything."""
    done = run("depth", DATABASE_URL="nonsense")
    assert done.returncode == 2
    assert done.stderr.startswith("workers: DATABASE_URL: ")
    assert "Traceback" not in done.stderr


def test_a_data_folder_that_is_a_file_is_named(tmp_path):
    """A sentence with the path, and a way round it."""
    (tmp_path / "file").write_text("")
    done = run("depth", "--data-dir", str(tmp_path / "file"))
    assert done.returncode == 1
    assert str(tmp_path / "file") in done.stderr
    assert "Traceback" not in done.stderr


def test_an_endless_file_is_refused_at_the_limit():
    """Nothing past the limit is read, from a file or from standard input."""
    done = run("histogram", "/dev/zero")
    assert done.returncode == 1
    assert '"too-many-bytes"' in done.stdout
