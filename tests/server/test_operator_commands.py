"""What operators do on the command line: what it prints, and how it ends."""

import json

import pytest

from server.outbox import Settlement, Status, pause_channel, settle
from tests.server.program import run

TABLE = "notifications.notification_deliveries"


async def _end(connection, rows, status: Status, count: int = 1) -> list[int]:
    await rows.add(connection, count)
    batch = await rows.take(connection, count)
    await settle(connection, [Settlement(d.id, d.attempt, status, "no answer") for d in batch])
    return [d.id for d in batch]


async def test_lists_are_for_people_and_for_programs(database, connection, rows):
    """A table that says how to go on, or the API's document."""
    ids = await _end(connection, rows, Status.DEAD, 3)
    options = ("deliveries", "list", "--status", "dead", "--limit", "2")
    shown = run(*options, DATABASE_URL=database, COLUMNS="200")
    assert shown.returncode == 0
    assert "no answer" in shown.stdout
    cursor = shown.stdout.splitlines()[-1].removeprefix("more: --cursor ")
    rest = run(*options, "--cursor", cursor, "--json", DATABASE_URL=database)
    document = json.loads(rest.stdout)
    assert ([d["id"] for d in document["deliveries"]], document["cursor"]) == (ids[:1], None)
    wrong = run(*options, "--cursor", "x", DATABASE_URL=database)
    assert (wrong.returncode, "Traceback" in wrong.stderr) == (2, False)
    assert "'x' is no cursor" in wrong.stderr


async def test_one_delivery_is_shown_with_its_attempts(database, connection, rows):
    """And one that is not there is said to be so."""
    [number] = await _end(connection, rows, Status.DEAD)
    shown = run("deliveries", "show", str(number), DATABASE_URL=database)
    document = json.loads(shown.stdout)
    assert (document["delivery"]["id"], document["payload"]) == (number, {"text": "x"})
    assert [a["error"] for a in document["attempts"]] == ["no answer"]
    gone = run("deliveries", "show", "999", DATABASE_URL=database)
    assert (gone.returncode, gone.stderr.strip()) == (1, "workers: there is no delivery 999")


async def test_retry_by_name_and_by_filter(database, connection, rows):
    """Prints what it moved, and fails for what it could not."""
    ids = await _end(connection, rows, Status.DEAD, 4)
    named = run("deliveries", "retry", str(ids[0]), "999", DATABASE_URL=database)
    assert (named.returncode, named.stdout) == (1, f"{ids[0]}\n")
    assert "delivery 999 has not failed" in named.stderr
    some = run("deliveries", "retry", "--status", "dead", "--limit", "2", DATABASE_URL=database)
    assert (some.returncode, some.stdout.split()) == (0, [str(n) for n in ids[1:3]])
    rest = run("deliveries", "retry", "--status", "dead", DATABASE_URL=database)
    assert rest.stdout.split() == [str(ids[3])]
    cursor = await connection.execute(f"select distinct status from {TABLE}".encode())
    assert await cursor.fetchall() == [("pending",)]


@pytest.mark.parametrize(
    "options",
    [
        ("deliveries", "retry"),
        ("deliveries", "retry", "1", "--status", "dead"),
        ("deliveries", "retry", "--status", "sent"),
        ("deliveries", "cancel"),
        ("deliveries", "show", "0"),
        ("channels", "pause", ""),
    ],
    ids=range(6),
)
def test_what_makes_no_sense_is_refused(options, tmp_path):
    """Before any database is started."""
    refused = run(*options, WORKERS_DATA_DIR=str(tmp_path))
    assert refused.returncode == 2
    assert "Traceback" not in refused.stderr
    assert not (tmp_path / "postgres").exists()


async def test_cancel_ends_what_waits(database, connection, rows):
    """And fails for what does not."""
    [number] = await rows.add(connection)
    first = run("deliveries", "cancel", str(number), DATABASE_URL=database)
    second = run("deliveries", "cancel", str(number), DATABASE_URL=database)
    assert (first.returncode, first.stdout) == (0, f"{number}\n")
    assert (second.returncode, second.stdout) == (1, "")
    assert "is not pending" in second.stderr
    assert (await rows.read(connection, number))["settle_class"] == "cancelled"


async def test_channels_are_paused_listed_and_resumed(database, connection, rows):
    """The reason is there for whoever wonders."""
    await rows.add(connection, 2)
    options = {"DATABASE_URL": database, "COLUMNS": "200"}
    paused = run("channels", "pause", "page", "--reason", "on fire", **options)
    assert paused.stdout == "page is paused\n"
    shown = run("channels", "list", **options)
    assert "on fire" in shown.stdout
    document = json.loads(run("channels", "list", "--json", **options).stdout)
    assert [(c["channel"], c["due"]) for c in document["channels"]] == [("page", 2)]
    drained = json.loads(run("drain", **options).stdout)
    assert (drained["finished"], drained["left"]["due_paused"]) == (True, 2)
    assert run("channels", "resume", "page", **options).stdout == "page is resumed\n"
    assert run("channels", "resume", "page", **options).stdout == "page was not paused\n"


async def test_verify_finds_a_difference_and_mend_takes_it_away(database, connection, rows):
    """Exit code 1 and both numbers; nothing to say when there is none."""
    await rows.add(connection, 3)
    clean = run("depth", "--verify", "--json", DATABASE_URL=database)
    assert (clean.returncode, clean.stderr) == (0, "")
    await connection.execute(
        "insert into notifications.depth_deltas (status, change) values ('sent', 2)"
    )
    wrong = run("depth", "--verify", DATABASE_URL=database)
    assert (wrong.returncode, wrong.stderr.strip()) == (
        1,
        "workers: sent: the depth says 2, a count 0",
    )
    mended = run("depth", "--mend", "--verify", DATABASE_URL=database)
    assert mended.returncode == 0


async def test_purge_deletes_what_is_old(database, connection, rows):
    """By the days of the settings; the report says how much it was."""
    await _end(connection, rows, Status.SENT, 3)
    await _end(connection, rows, Status.DEAD, 2)
    await pause_channel(connection, "page")
    await connection.execute(
        f"update {TABLE} set settled_at = settled_at - interval '2 days'".encode()
    )
    report = json.loads(run("purge", DATABASE_URL=database, WORKERS_KEEP_SENT_DAYS="1.5").stdout)
    assert report == {"sent": 3, "failed": 0, "dead": 0, "messages": 0, "finished": True}
