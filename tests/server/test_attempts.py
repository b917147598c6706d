"""Every attempt is in the log: who held it, how it ended, and writes that came too late."""

from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from server.outbox import channels_waiting, reap, release, settle
from server.outbox.model import Settlement, Status, Verdict

Connection = psycopg.AsyncConnection[Any]
TABLE = "notifications.notification_deliveries"


async def _log(connection: Connection, number: int) -> list[dict[str, Any]]:
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(
            "select * from notifications.attempts where delivery_id = %s"
            " order by attempt, entry nulls last",
            (number,),
        )
        return await cursor.fetchall()


async def test_an_attempt_that_runs_is_seen(connection, rows):
    """Before anything is logged, the delivery itself says who holds it."""
    delivery = await rows.take_one(connection, holder="me")
    [running] = await _log(connection, delivery.id)
    assert (running["attempt"], running["holder"], running["ended_at"]) == (1, "me", None)
    assert running["claimed_at"] is not None


async def test_each_outcome_is_logged_with_what_the_receiver_said(connection, rows):
    """Sent with the receiver's name for it, failed with the kind of failure, refused with why."""
    await rows.add(connection, 3)
    sent, again, refused = await rows.take(connection, holder="me")
    await settle(
        connection,
        [
            Settlement(sent.id, 1, Status.SENT, provider_id="msg-1"),
            Settlement(again.id, 1, Status.PENDING, "no answer", 30.0, code="timeout"),
            Settlement(refused.id, 1, Status.FAILED, "unknown user", code="no-mailbox"),
        ],
    )
    kept = ("holder", "outcome", "class", "error", "provider_id", "verdict")
    found = [
        [tuple(e[k] for k in kept) for e in await _log(connection, d.id)]
        for d in (sent, again, refused)
    ]
    assert found == [
        [("me", "sent", None, None, "msg-1", "applied")],
        [("me", "failed", "timeout", "no answer", None, "applied")],
        [("me", "refused", "no-mailbox", "unknown user", None, "applied")],
    ]
    [entry] = await _log(connection, sent.id)
    assert entry["claimed_at"] <= entry["ended_at"]


async def test_a_refused_late_write_is_evidence(connection, rows):
    """Two attempts, three entries: lost, the late write of the one who lost it, and the heir's."""
    late = await rows.take_one(connection, holder="frozen")
    await rows.expire(connection)
    await reap(connection)
    [taken] = await rows.take(connection, holder="heir")
    write = [Settlement(late.id, 1, Status.SENT, provider_id="msg-1")]
    [answer] = await settle(connection, write, holder="frozen")
    assert answer.verdict is Verdict.REFUSED
    await settle(connection, [Settlement(taken.id, 2, Status.SENT)], holder="heir")
    entries = [
        (e["attempt"], e["holder"], e["outcome"], e["class"], e["provider_id"], e["verdict"])
        for e in await _log(connection, late.id)
    ]
    assert entries == [
        (1, "frozen", "lost", "lease-lost", None, "applied"),
        (1, "frozen", "sent", None, "msg-1", "refused"),
        (2, "heir", "sent", None, None, "applied"),
    ]


async def test_a_late_truth_and_a_release_are_logged(connection, rows):
    """A late write that counts says so; what was handed back was never an attempt to send."""
    delivery = await rows.take_one(connection)
    await release(connection, [delivery])
    [again] = await rows.take(connection)
    await rows.expire(connection)
    await reap(connection)
    await settle(connection, [Settlement(again.id, 2, Status.SENT)], holder="a")
    entries = [(e["attempt"], e["outcome"], e["verdict"]) for e in await _log(connection, again.id)]
    assert entries == [(1, "released", "applied"), (2, "lost", "applied"), (2, "sent", "late")]


async def test_a_write_that_is_repeated_is_logged_once(connection, rows):
    """Its first answer was lost, not its effect."""
    delivery = await rows.take_one(connection)
    outcome = [Settlement(delivery.id, 1, Status.SENT)]
    await settle(connection, outcome)
    await settle(connection, outcome)
    assert len(await _log(connection, delivery.id)) == 1


async def test_a_write_to_a_row_that_is_gone_leaves_nothing(connection):
    """There is no delivery whose log it could stand in."""
    await settle(connection, [Settlement(4711, 1, Status.SENT)])
    assert await _log(connection, 4711) == []


@pytest.mark.parametrize("end", ["delete from", "truncate"])
async def test_attempts_go_with_their_delivery(connection, rows, end):
    """And with no other, except when all go."""
    gone = await rows.take_one(connection)
    await settle(connection, [Settlement(gone.id, 1, Status.SENT)])
    kept = await rows.take_one(connection)
    await settle(connection, [Settlement(kept.id, 1, Status.SENT)])
    which = f" where id = {gone.id}" if end == "delete from" else ""
    await connection.execute(f"{end} {TABLE}{which}".encode())
    assert await _log(connection, gone.id) == []
    assert len(await _log(connection, kept.id)) == (1 if which else 0)


async def test_why_a_delivery_ended_is_told_apart(connection, rows):
    """Refused by its receiver, worn out, or lost with its worker; nothing while it can be sent."""
    await rows.add(connection, 4, max_attempts=1)
    refused, worn, sent, lost = await rows.take(connection)
    await settle(
        connection,
        [
            Settlement(refused.id, 1, Status.FAILED, "no"),
            Settlement(worn.id, 1, Status.DEAD, "down"),
            Settlement(sent.id, 1, Status.SENT),
        ],
    )
    await rows.expire(connection)
    await reap(connection)
    found = [(await rows.read(connection, d.id))["settle_class"] for d in (refused, worn, sent)]
    assert found == ["refused", "exhausted", None]
    assert (await rows.read(connection, lost.id))["settle_class"] == "lease-lost"
    # The lost worker had sent it after all: then it has not ended badly.
    await settle(connection, [Settlement(lost.id, 1, Status.SENT)])
    row = await rows.read(connection, lost.id)
    assert (row["status"], row["settle_class"]) == ("sent", None)


async def test_a_class_without_an_end_is_refused(connection, rows):
    """A second chance takes the class away, or the table refuses it."""
    delivery = await rows.take_one(connection)
    await settle(connection, [Settlement(delivery.id, 1, Status.FAILED, "no")])
    with pytest.raises(psycopg.errors.CheckViolation, match="only_an_end_has_a_class"):
        await connection.execute(
            f"update {TABLE} set status = 'pending', settled_at = null".encode()
        )


@pytest.mark.parametrize("column", ["channel = 'mail'", "recipient = 'eve'", "payload = '{}'"])
async def test_the_request_of_a_delivery_never_changes(connection, rows, column):
    """What a retry sends is what the first attempt sent."""
    await rows.add(connection)
    with pytest.raises(psycopg.errors.CheckViolation, match="may not change"):
        await connection.execute(f"update {TABLE} set {column}".encode())


async def test_writing_the_same_request_is_no_change(connection, rows):
    """An update that a mapper writes with all columns passes."""
    await rows.add(connection)
    done = await connection.execute(f"update {TABLE} set recipient = recipient".encode())
    assert done.rowcount == 1


async def test_what_is_due_is_counted_by_channel(connection, rows):
    """A channel that nobody serves is seen; what is not due is not counted."""
    await rows.add(connection, 2)
    await rows.add(connection, 3, channel="pigeon")
    await rows.add(connection, channel="pigeon", delay_s=60)
    waiting = await channels_waiting(connection)
    assert {name: one.due for name, one in waiting.items()} == {"page": 2, "pigeon": 3}
    assert waiting["page"].oldest_due_at <= waiting["pigeon"].oldest_due_at
