"""`attempts` is the fence: whoever has lost a delivery changes nothing any more."""

import psycopg
import pytest

from server.outbox import extend, reap, release, settle
from server.outbox.model import Settlement, Status, Verdict

OUTCOMES = [
    Settlement(0, 0, Status.SENT),
    Settlement(0, 0, Status.PENDING, "again", 30.0),
    Settlement(0, 0, Status.FAILED, "no"),
    Settlement(0, 0, Status.DEAD, "no more"),
]


async def _pending_again(connection, rows, late):
    """Claimed by another, who failed: the row waits for its retry."""
    await _taken_over(connection, rows, late)
    await settle(connection, [Settlement(late.id, 2, Status.PENDING, "again", 30.0)])


async def _taken_over(connection, rows, late):
    """Reaped and claimed by another."""
    await rows.expire(connection)
    await reap(connection)
    [second] = await rows.take(connection, 1, holder="b")
    assert (second.id, second.attempt) == (late.id, 2)


async def _ended(status):
    async def end(connection, rows, late):
        await _taken_over(connection, rows, late)
        await settle(connection, [Settlement(late.id, 2, status, "end")])

    return end


async def _dead(connection, rows, late):
    await (await _ended(Status.DEAD))(connection, rows, late)


async def _failed(connection, rows, late):
    await (await _ended(Status.FAILED))(connection, rows, late)


async def _sent(connection, rows, late):
    await (await _ended(Status.SENT))(connection, rows, late)


async def _released(connection, rows, _late):
    """Claimed by another, who handed it back."""
    await rows.expire(connection)
    await reap(connection)
    await release(connection, await rows.take(connection, 1, holder="b"))


STATES = {
    "processing": _taken_over,
    "pending": _pending_again,
    "released": _released,
    "sent": _sent,
    "failed": _failed,
    "dead": _dead,
}


@pytest.mark.parametrize("outcome", OUTCOMES, ids=lambda o: o.status.value)
@pytest.mark.parametrize("state", STATES)
async def test_a_late_outcome_is_refused_in_every_state(connection, rows, state, outcome):
    """Whatever the row has become under a later attempt, the earlier one writes nothing."""
    late = await rows.take_one(connection)
    await STATES[state](connection, rows, late)
    before = await rows.read(connection, late.id)
    [answer] = await settle(
        connection,
        [Settlement(late.id, late.attempt, outcome.status, outcome.error, outcome.delay_s)],
    )
    assert answer.verdict is Verdict.REFUSED
    assert answer.current_attempt == 2
    assert await rows.read(connection, late.id) == before


@pytest.mark.parametrize("state", STATES)
async def test_a_late_extension_or_release_is_refused_in_every_state(connection, rows, state):
    """A heartbeat that comes late does not prolong the lease of the successor."""
    late = await rows.take_one(connection)
    await STATES[state](connection, rows, late)
    before = await rows.read(connection, late.id)
    assert await extend(connection, [late], lease_s=900) == set()
    assert await release(connection, [late]) == set()
    assert await rows.read(connection, late.id) == before


@pytest.mark.parametrize("change", ["attempts = 0", "attempts = attempts - 1"])
async def test_attempts_cannot_fall(connection, rows, change):
    """Not by hand and not by a reset: an old fence would be valid again."""
    delivery = await rows.take_one(connection)
    with pytest.raises(psycopg.errors.CheckViolation, match="may not fall from 1 to 0"):
        await connection.execute(
            f"update notifications.notification_deliveries set {change} where id = %s".encode(),
            (delivery.id,),
        )


async def test_an_operator_gives_another_chance_by_raising_max_attempts(connection, rows):
    """A dead row can't be made pending as it is, but it can with a larger budget."""
    delivery = await rows.take_one(connection)
    await settle(connection, [Settlement(delivery.id, 1, Status.DEAD, "no more")])
    await connection.execute(
        "update notifications.notification_deliveries set max_attempts = 1 where id = %s",
        (delivery.id,),
    )
    again = (
        "update notifications.notification_deliveries"
        " set status = 'pending', settled_at = null, settle_class = null"
    )
    with pytest.raises(psycopg.errors.CheckViolation, match="pending_can_be_claimed"):
        await connection.execute(again.encode())
    await connection.execute(f"{again}, max_attempts = attempts + 1".encode())
    [second] = await rows.take(connection)
    assert second.attempt == 2


@pytest.mark.parametrize(
    ("change", "constraint"),
    [
        ("status = 'processing'", "processing_is_leased"),
        ("holder = 'x'", "processing_is_leased"),
        ("lease_expires_at = now()", "processing_is_leased"),
        ("status = 'sent'", "final_is_settled"),
        ("attempts = 6", "attempts_within_budget"),
        ("status = 'lost'", "status_check"),
    ],
)
async def test_a_row_that_contradicts_itself_is_refused(connection, rows, change, constraint):
    """The table itself holds the rules, whoever writes to it."""
    await rows.add(connection)
    with pytest.raises(psycopg.errors.CheckViolation, match=constraint):
        await connection.execute(
            f"update notifications.notification_deliveries set {change}".encode()
        )
