"""A worker's turn: what it settles, and what it brings back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from server.redisq import NewJob, Queue, QueueError
from server.redisq.model import Claim, Kind
from tests.redisq.hand import Hand, dump, elapse, ended, places

KINDS: tuple[Kind, ...] = ("done", "retry", "dead", "release", "snooze", "cancelled")


async def job_fields(queue: Queue, id_: str) -> dict[str, str]:
    """Return a job's hash; empty if there is none."""
    fields = await queue.client.hgetall(f"{queue.base}:job:{id_}")
    return {key.decode(): value.decode() for key, value in fields.items()}


async def test_a_claim_says_all_that_a_worker_needs(queue: Queue, worker: Hand) -> None:
    """And the job's hash says who has it, until when."""
    await queue.enqueue("send", {"n": 1}, id="x", max_attempts=4, timeout_s=7)
    turn = await worker.turn(lease_ms=20_000)
    [claim] = turn.claims
    assert claim == Claim(
        id="x",
        token=claim.token,
        task="send",
        payload=b'{"n":1}',
        attempts=0,
        lost=0,
        timeout_ms=7000,
        queued_ms=claim.queued_ms,
        due_ms=claim.due_ms,
        max_attempts=4,
    )
    job = await queue.get("x")
    assert job
    assert (job.state, job.worker, job.token, job.claimed_ms, job.lease_ms) == (
        "active",
        "w1",
        claim.token,
        turn.now_ms,
        turn.now_ms + 20_000,
    )
    assert turn.due_ms == 20_000


async def test_what_is_done_is_kept_with_its_result(queue: Queue, worker: Hand) -> None:
    """Until its time has come."""
    await queue.enqueue("a", "abc", id="x", keep_s=50)
    turn = await worker.turn(ended(await worker.claim(), text=b'"fine"'))
    assert turn.verdicts == ["ok"]
    job = await queue.get("x")
    assert job
    assert (job.state, job.result, job.ended_ms, job.attempts) == ("done", "fine", turn.now_ms, 0)
    assert await queue.client.zscore(f"{queue.base}:done", "x") == turn.now_ms + 50_000
    assert (await job_fields(queue, "x"))["bytes"] == "11"
    await elapse(queue, 49_000)
    await worker.turn()
    assert await places(queue) == {"done": ["x"]}
    await elapse(queue, 2000)
    await worker.turn()
    assert await places(queue) == {}
    assert await queue.get("x") is None


async def test_what_is_not_to_be_kept_leaves_nothing(queue: Queue, worker: Hand) -> None:
    """No hash, no log, no ledger."""
    await queue.enqueue("a", id="x", keep_s=0, unique="k")
    claim = await worker.claim()
    await worker.turn(ended(claim, "release"), want=0)
    claim = await worker.claim()
    assert await worker.note(claim, "once", "effect") == 1
    await worker.turn(ended(claim))
    assert await queue.client.keys(f"{queue.base}:*x") == []
    assert await queue.client.keys(f"{queue.base}:unique:*") == []


async def test_a_failure_waits_and_comes_back_until_its_attempts_are_used(
    queue: Queue, worker: Hand
) -> None:
    """Then it is dead, for that reason, with every error told."""
    await queue.enqueue("a", id="x", max_attempts=2)
    turn = await worker.turn(ended(await worker.claim(), "retry", 4000, b"first\nline"))
    assert turn.claims == []
    assert turn.due_ms == 4000
    job = await queue.get("x")
    assert job
    assert (job.state, job.attempts, job.error, job.due_ms) == (
        "scheduled",
        1,
        "first\nline",
        turn.now_ms + 4000,
    )
    await elapse(queue, 4000)
    turn = await worker.turn(ended(await worker.claim(), "retry", 8000, b"second"))
    job = await queue.get("x")
    assert job
    assert (job.state, job.attempts, job.reason, job.error) == ("dead", 2, "exhausted", "second")
    assert job.ended_ms == turn.now_ms
    assert [entry[1:] for entry in job.log] == [
        ("failed", "first\nline"),
        ("failed", "second"),
        ("dead", "exhausted"),
    ]


async def test_a_refusal_is_dead_at_once(queue: Queue, worker: Hand) -> None:
    """However many attempts were left."""
    await queue.enqueue("a", id="x")
    await worker.turn(ended(await worker.claim(), "dead", text=b"no such address"))
    job = await queue.get("x")
    assert job
    assert (job.state, job.reason, job.error, job.attempts) == (
        "dead",
        "refused",
        "no such address",
        1,
    )


async def test_what_is_given_back_keeps_its_place(queue: Queue, worker: Hand) -> None:
    """Before those that came later, with no attempt burnt."""
    await queue.enqueue_many([NewJob(task="a", id=id_) for id_ in ("x", "y", "z")])
    claim = await worker.claim()
    await worker.turn(ended(claim, "release"), want=0)
    assert await places(queue) == {"ready": ["x", "y", "z"]}
    job = await queue.get("x")
    assert job
    assert (job.attempts, job.lost) == (0, 0)
    again = await worker.claim()
    assert again.id == "x"
    assert again.token > claim.token


async def test_a_snooze_waits_and_burns_nothing(queue: Queue, worker: Hand) -> None:
    """It has all its attempts still."""
    await queue.enqueue("a", id="x", max_attempts=1)
    turn = await worker.turn(ended(await worker.claim(), "snooze", 9000))
    job = await queue.get("x")
    assert job
    assert (job.state, job.attempts, job.due_ms) == ("scheduled", 0, turn.now_ms + 9000)


async def test_a_turn_sent_twice_changes_nothing_and_says_the_same(
    queue: Queue, worker: Hand
) -> None:
    """The jobs with it."""
    await queue.enqueue_many([NewJob(task="a", id=f"j{n}", payload=n) for n in range(5)])
    first = await worker.turn(want=2)
    outcomes = [ended(first.claims[0]), ended(first.claims[1], "retry", 5000, b"no")]
    answer = await worker.turn(*outcomes, want=2)
    before = await dump(queue.client)
    again = await worker.turn(*outcomes, want=2, seq=worker.seq)
    assert (again.verdicts, again.claims) == (answer.verdicts, answer.claims)
    assert again.verdicts == ["ok", "ok"]
    assert [claim.id for claim in again.claims] == ["j2", "j3"]
    assert await dump(queue.client) == before


@pytest.mark.parametrize("what", ["lost", "cancelled", "claimed", "forgotten"])
async def test_a_turn_sent_twice_does_not_hand_out_what_has_moved_on(
    queue: Queue, worker: Hand, other: Hand, what: str
) -> None:
    """However late the second comes."""
    await queue.enqueue_many([NewJob(task="a", id="x"), NewJob(task="a", id="y")])
    await worker.turn(want=1)
    await elapse(queue, 31_000)
    await other.turn(want=0)
    if what == "cancelled":
        assert await queue.operate("cancel", ["x"]) == {"x": "ok"}
    elif what == "claimed":
        await elapse(queue, 2000)
        assert len((await other.turn()).claims) == 2
    elif what == "forgotten":
        await queue.operate("cancel", ["x"])
        await queue.operate("delete", ["x"])
    before = await dump(queue.client)
    assert (await worker.turn(want=1, seq=1)).claims == []
    assert await dump(queue.client) == before


async def test_an_earlier_turn_than_the_last_is_refused(queue: Queue, worker: Hand) -> None:
    """It is an echo, and changes nothing."""
    await queue.enqueue_many([NewJob(task="a"), NewJob(task="a")])
    claim = await worker.claim()
    await worker.turn(want=0)
    before = await dump(queue.client)
    assert await worker.raw_turn(ended(claim), seq=1) == [b"stale"]
    with pytest.raises(QueueError):
        await worker.turn(ended(claim), seq=1)
    assert await dump(queue.client) == before


async def _claimed_by_another(queue: Queue, other: Hand) -> None:
    await elapse(queue, 31_000)
    await other.turn(want=0)
    await elapse(queue, 2000)
    await other.turn()


async def _done_by_another(queue: Queue, other: Hand) -> None:
    await elapse(queue, 31_000)
    await other.turn(want=0)
    await elapse(queue, 2000)
    await other.turn(ended(await other.claim()))


async def _dead_by_another(queue: Queue, other: Hand) -> None:
    await elapse(queue, 31_000)
    await other.turn(want=0)
    await elapse(queue, 2000)
    await other.turn(ended(await other.claim(), "dead"))


async def _put_back_by_another(queue: Queue, other: Hand) -> None:
    await elapse(queue, 31_000)
    await other.turn(want=0)
    await elapse(queue, 2000)
    await other.turn(ended(await other.claim(), "retry", 5000), want=0)


async def _cancelled(queue: Queue, other: Hand) -> None:
    await elapse(queue, 31_000)
    await other.turn(want=0)
    await queue.operate("cancel", ["x"])


async def _forgotten(queue: Queue, other: Hand) -> None:
    await _cancelled(queue, other)
    await queue.operate("delete", ["x"])


Event = Callable[[Queue, Hand], Awaitable[None]]
MOVED_ON: list[Event] = [
    _claimed_by_another,
    _done_by_another,
    _dead_by_another,
    _put_back_by_another,
    _cancelled,
    _forgotten,
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("event", MOVED_ON, ids=lambda event: event.__name__)
async def test_a_late_outcome_counts_for_nothing(
    queue: Queue, worker: Hand, other: Hand, event: Event, kind: Kind
) -> None:
    """Wherever the job has gone since."""
    await queue.enqueue("a", id="x")
    claim = await worker.claim()
    await event(queue, other)
    before = await job_fields(queue, "x"), await places(queue)
    turn = await worker.turn(ended(claim, kind, text=b'"late"'), want=0)
    assert turn.verdicts == ["late"]
    assert (await job_fields(queue, "x"), await places(queue)) == before


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("due", [False, True], ids=["scheduled", "ready"])
async def test_after_the_lease_only_what_is_done_counts(
    queue: Queue, worker: Hand, other: Hand, kind: Kind, *, due: bool
) -> None:
    """While nobody has claimed the job since: what was done is done."""
    await queue.enqueue("a", id="x", unique="k")
    claim = await worker.claim()
    await elapse(queue, 31_000)
    await other.turn(want=0)
    if due:
        await elapse(queue, 2000)
        await other.turn(want=0)
    assert await places(queue) == {"ready" if due else "scheduled": ["x"]}
    turn = await worker.turn(ended(claim, kind), want=0)
    if kind == "done":
        assert turn.verdicts == ["ok"]
        assert await places(queue) == {"done": ["x"]}
    else:
        assert turn.verdicts == ["late"]
        assert await places(queue) == {"ready" if due else "scheduled": ["x"]}


async def test_two_outcomes_of_one_run_count_once(queue: Queue, worker: Hand) -> None:
    """The first."""
    await queue.enqueue("a", id="x")
    claim = await worker.claim()
    turn = await worker.turn(ended(claim), ended(claim, "retry"))
    assert turn.verdicts == ["ok", "late"]
    assert await places(queue) == {"done": ["x"]}


async def test_a_job_whose_worker_vanishes_comes_back_and_in_the_end_is_dead(
    queue: Queue, worker: Hand, other: Hand
) -> None:
    """With pauses that grow, and without an attempt being counted."""
    await queue.enqueue("a", id="x", max_attempts=1, unique="k")
    for lost, pause in ((1, 1000), (2, 2000)):
        await worker.claim()
        await elapse(queue, 30_000)
        turn = await other.turn()
        assert turn.claims == []
        assert turn.due_ms == pause
        job = await queue.get("x")
        assert job
        assert (job.state, job.lost, job.attempts) == ("scheduled", lost, 0)
        await elapse(queue, pause)
    await worker.claim()
    await elapse(queue, 30_000)
    await other.turn()
    job = await queue.get("x")
    assert job
    assert (job.state, job.reason, job.lost, job.attempts) == ("dead", "lost", 3, 0)
    assert await queue.enqueue("a", unique="k") != "x"


@pytest.mark.parametrize("how", ["retry", "release", "snooze", "cancelled", "lost", "unheard"])
async def test_what_is_to_be_cancelled_does_not_wait_again(
    queue: Queue, worker: Hand, other: Hand, how: str
) -> None:
    """However its run ends, unless it is done."""
    await queue.enqueue("a", id="x", unique="k")
    claim = await worker.claim()
    assert await queue.operate("cancel", ["x"]) == {"x": "asked"}
    if how == "lost":
        await elapse(queue, 31_000)
        await other.turn(want=0)
    elif how == "unheard":
        await worker.beat()
    else:
        await worker.turn(ended(claim, how), want=0)  # type: ignore[arg-type]
    job = await queue.get("x")
    assert job
    assert (job.state, job.reason) == ("dead", "cancelled")
    assert await queue.operate("retry", ["x"]) == {"x": "ok"}
    await worker.turn(ended(await worker.claim(), "retry", 1))
    assert list(await places(queue)) == ["scheduled"]


async def test_due_jobs_are_promoted_up_to_a_bound(queue: Queue, worker: Hand) -> None:
    """And the answer says that there are more."""
    jobs = [NewJob(task="a", id=f"j{n:03}", delay_s=5) for n in range(250)]
    await queue.enqueue_many(jobs)
    await elapse(queue, 6000)
    for ready in (100, 200, 250):
        turn = await worker.turn(want=0)
        assert turn.due_ms == (None if ready == 250 else 0)
        assert await queue.client.zcard(f"{queue.base}:ready") == ready


async def test_overdue_leases_are_taken_back_up_to_a_bound(
    queue: Queue, worker: Hand, other: Hand
) -> None:
    """As for what is due."""
    await queue.enqueue_many([NewJob(task="a") for _ in range(150)])
    await worker.turn()
    await worker.turn()
    await elapse(queue, 31_000)
    assert (await other.turn(want=0)).due_ms == 0
    assert await queue.client.zcard(f"{queue.base}:active") == 50
    assert (await other.turn(want=0)).due_ms == 1000 - (await _passed(queue))
    assert await queue.client.zcard(f"{queue.base}:active") == 0


async def _passed(queue: Queue) -> int:
    """How long ago, in ms, the first of what was lost was put back, at the last turn."""
    [(_, due)] = await queue.client.zrange(f"{queue.base}:scheduled", 0, 0, withscores=True)
    [(_, last)] = await queue.client.zrange(f"{queue.base}:scheduled", -1, -1, withscores=True)
    return int(last - due)


@pytest.mark.parametrize("state", ["ready", "scheduled", "active"])
async def test_an_id_whose_hash_is_gone_stops_nothing(
    queue: Queue, worker: Hand, state: str
) -> None:
    """Evicted, say, or deleted by hand: it is dropped, counted, and the others go on."""
    await queue.client.zadd(f"{queue.base}:{state}", {"ghost": 1})
    await queue.enqueue("a", id="x")
    assert [claim.id for claim in (await worker.turn()).claims] == ["x"]
    assert await places(queue) == {"active": ["x"]}
    assert await queue.client.hget(f"{queue.base}:meta", "total_dropped") == b"1"


async def test_a_late_outcome_leaves_the_later_run_alone(queue: Queue, worker: Hand) -> None:
    """Though it is the same worker that holds the job again."""
    await queue.enqueue("a", id="x")
    first = await worker.claim()
    await elapse(queue, 31_000)
    await worker.turn(want=0)
    await elapse(queue, 2000)
    second = await worker.claim()
    assert (await worker.turn(ended(first))).verdicts == ["late"]
    assert await queue.client.smembers(f"{queue.base}:held:{worker.name}") == {b"x"}
    assert (await worker.turn(ended(second))).verdicts == ["ok"]
