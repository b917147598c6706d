"""What others have written does nothing to the terminal that shows it."""

import io
import json
import logging

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from server.cli import app
from server.logs import configure_logs
from server.outbox import NewDelivery, enqueue_sync
from server.printable import printable, printable_json

EVIL = ["[/nope]", "[red]x[/red]", "a\x1b[31mred", "\x9b31m", "two\nlines\r", "\u202eevil", "\x07"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(st.text(st.characters()))
def test_nothing_but_what_can_be_seen_is_left(text):
    """And a text that can be seen stays as it is."""
    assert printable(text).isprintable()
    if text.isprintable():
        assert printable(text) == text


@given(JSON)
def test_a_json_text_means_the_same(document):
    """For whoever reads it, and for the terminal it is harmless."""
    text = printable_json(json.dumps(document, indent=2, ensure_ascii=False))
    assert json.loads(text) == document
    assert text.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    "command",
    [
        ["deliveries", "list", "--limit", "100"],
        ["deliveries", "list", "--json"],
        ["deliveries", "show", "1"],
        ["channels", "list"],
        ["channels", "list", "--json"],
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("root_logger")
def test_no_list_does_what_stands_in_it(command, module_database):
    """Neither an escape sequence nor the markup of tables."""
    with psycopg.connect(module_database) as connection:
        wanted = [NewDelivery(text, text, {"text": text}, idempotency_key=text) for text in EVIL]
        enqueue_sync(connection, wanted)
    environment = {"DATABASE_URL": module_database, "COLUMNS": "200"}
    shown = CliRunner(env=environment).invoke(app, command)
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert shown.stdout.replace("\n", "").isprintable()
    if command[1] == "list":
        assert all(text in shown.stdout for text in ("[/nope]", "[red]x[/red]", "[31mred"))


@pytest.mark.parametrize("form", ["console", "json"])
@pytest.mark.usefixtures("root_logger")
def test_no_log_line_does_what_stands_in_it(form, monkeypatch):
    """A receiver's words stand in some of them."""
    log = io.StringIO()
    monkeypatch.setattr("sys.stderr", log)
    configure_logs(form)
    for text in EVIL:
        logging.getLogger("server").warning("it says: %s", text, extra={"channel": text})
    assert "[31mred" in log.getvalue()
    lines = log.getvalue().splitlines()
    assert len(lines) == len(EVIL)
    assert all(line.isprintable() for line in lines)
