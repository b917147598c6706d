"""A settle answers every outcome with a verdict."""

from server.outbox import reap, settle
from server.outbox.model import Settlement, Status, Verdict


async def test_outcomes_lead_to_their_states(connection, rows):
    """One statement settles a batch of mixed outcomes."""
    await rows.add(connection, 4)
    sent, again, failed, dead = await rows.take(connection)
    answers = await settle(
        connection,
        [
            Settlement(dead.id, 1, Status.DEAD, "worn out"),
            Settlement(sent.id, 1, Status.SENT),
            Settlement(again.id, 1, Status.PENDING, "busy", 30.0),
            Settlement(failed.id, 1, Status.FAILED, "no such address"),
        ],
    )
    assert [a.verdict for a in answers] == [Verdict.APPLIED] * 4
    found = {d.id: await rows.read(connection, d.id) for d in (sent, again, failed, dead)}
    assert [found[d.id]["status"] for d in (sent, again, failed, dead)] == [
        "sent",
        "pending",
        "failed",
        "dead",
    ]
    assert found[failed.id]["last_error"] == "no such address"
    assert found[again.id]["settled_at"] is None
    assert found[sent.id]["settled_at"] is not None


async def test_the_pause_is_counted_from_the_settle(connection, rows):
    """A send that failed after four minutes still waits its whole pause."""
    delivery = await rows.take_one(connection)
    await connection.execute(
        "update notifications.notification_deliveries"
        " set attempted_at = attempted_at - interval '4 minutes'"
    )
    await settle(connection, [Settlement(delivery.id, 1, Status.PENDING, "slow", 120.0)])
    cursor = await connection.execute(
        "select next_attempt_at - clock_timestamp() > interval '110 seconds'"
        " from notifications.notification_deliveries"
    )
    assert await cursor.fetchone() == (True,)


async def test_a_late_sent_counts_if_nobody_has_claimed_since(connection, rows):
    """It really was sent, so that it is not sent again."""
    delivery = await rows.take_one(connection)
    await rows.expire(connection)
    await reap(connection)
    [answer] = await settle(connection, [Settlement(delivery.id, 1, Status.SENT)])
    assert (answer.verdict, answer.status) == (Verdict.LATE, Status.SENT)
    assert await rows.take(connection) == []


async def test_a_late_sent_counts_after_the_reaper_gave_the_row_up(connection, rows):
    """The same where the lost attempt was the last one."""
    await rows.add(connection, max_attempts=1)
    [delivery] = await rows.take(connection)
    await rows.expire(connection)
    [reaped] = await reap(connection)
    assert reaped.status is Status.DEAD
    [answer] = await settle(connection, [Settlement(delivery.id, 1, Status.SENT)])
    assert (answer.verdict, answer.status) == (Verdict.LATE, Status.SENT)


async def test_a_late_failure_changes_nothing(connection, rows):
    """The reaper has given the row back already; its pause is not touched."""
    delivery = await rows.take_one(connection)
    await rows.expire(connection)
    await reap(connection)
    before = await rows.read(connection, delivery.id)
    [answer] = await settle(connection, [Settlement(delivery.id, 1, Status.FAILED, "no")])
    assert answer.verdict is Verdict.REFUSED
    assert await rows.read(connection, delivery.id) == before


async def test_an_expired_lease_that_nobody_reaped_still_settles(connection, rows):
    """Nobody has noticed, so nothing stands against it."""
    delivery = await rows.take_one(connection)
    await rows.expire(connection)
    [answer] = await settle(connection, [Settlement(delivery.id, 1, Status.SENT)])
    assert answer.verdict is Verdict.APPLIED


async def test_a_settle_sent_twice_says_so(connection, rows):
    """The first answer was lost on the way; the second is no refusal."""
    delivery = await rows.take_one(connection)
    outcome = [Settlement(delivery.id, 1, Status.SENT)]
    [first] = await settle(connection, outcome)
    before = await rows.read(connection, delivery.id)
    [second] = await settle(connection, outcome)
    assert (first.verdict, second.verdict) == (Verdict.APPLIED, Verdict.REPEATED)
    assert await rows.read(connection, delivery.id) == before


async def test_a_row_that_is_gone_is_answered_too(connection):
    """Every outcome gets a verdict."""
    [answer] = await settle(connection, [Settlement(4711, 1, Status.SENT)])
    assert (answer.verdict, answer.status, answer.current_attempt) == (Verdict.REFUSED, None, None)


async def test_a_budget_lowered_meanwhile_ends_in_dead(connection, rows):
    """A retry that the row may not have any more is not left pending for ever."""
    delivery = await rows.take_one(connection)
    await connection.execute("update notifications.notification_deliveries set max_attempts = 1")
    [answer] = await settle(connection, [Settlement(delivery.id, 1, Status.PENDING, "x", 30.0)])
    assert answer.status is Status.DEAD


async def test_nothing_to_settle_is_nothing(connection):
    """An empty batch needs no statement."""
    assert await settle(connection, []) == []


async def test_a_failure_that_made_the_row_dead_is_known_again(connection, rows):
    """The budget was lowered after the claim; the write whose answer was lost says it once more."""
    delivery = await rows.take_one(connection)
    await connection.execute("update notifications.notification_deliveries set max_attempts = 1")
    failure = Settlement(delivery.id, 1, Status.PENDING, "busy", 30.0)
    [first] = await settle(connection, [failure])
    [second] = await settle(connection, [failure])
    assert (first.verdict, first.status) == (Verdict.APPLIED, Status.DEAD)
    assert (second.verdict, second.status) == (Verdict.REPEATED, Status.DEAD)
