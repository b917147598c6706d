"""A worker's heartbeat, and what its jobs note."""

from __future__ import annotations

import pytest

from server.redisq import NewJob, Queue
from tests.redisq.hand import Hand, dump, elapse, ended, places


async def lease_left(queue: Queue, id_: str) -> float:
    """Milliseconds until the lease of a job runs out."""
    seconds, micros = await queue.client.time()
    until = await queue.client.zscore(f"{queue.base}:active", id_)
    assert until is not None
    return float(until) - (seconds * 1000 + micros / 1000)


async def test_it_extends_what_is_held(queue: Queue, worker: Hand) -> None:
    """By its own lease, and nothing else's."""
    await queue.enqueue_many([NewJob(task="a", id="x"), NewJob(task="a", id="y")])
    x, y = (await worker.turn(lease_ms=5000)).claims
    assert await worker.beat(x, y, lease_ms=3_600_000) == ([], [])
    # More than the 5 s of before, however long the machine has stood still in between.
    assert 5000 < await lease_left(queue, "x") <= 3_600_000
    assert 5000 < await lease_left(queue, "y") <= 3_600_000


async def test_it_never_makes_a_lease_shorter(queue: Queue, worker: Hand) -> None:
    """A job may have asked for more than the usual."""
    await queue.enqueue("a", id="x")
    claim = await worker.claim()
    assert await worker.note(claim, "extend", 900_000) == 1
    await worker.beat(claim)
    assert await lease_left(queue, "x") > 800_000
    assert await worker.note(claim, "extend", 1000) == 1
    assert await lease_left(queue, "x") > 800_000


@pytest.mark.parametrize("since", ["scheduled", "active", "done", "forgotten"])
async def test_it_tells_what_was_lost(queue: Queue, worker: Hand, other: Hand, since: str) -> None:
    """And leaves it where it is."""
    await queue.enqueue("a", id="x")
    claim = await worker.claim()
    await elapse(queue, 31_000)
    await other.turn(want=0)
    if since != "scheduled":
        await elapse(queue, 2000)
        again = await other.claim()
        if since != "active":
            await other.turn(ended(again))
        if since == "forgotten":
            await queue.operate("delete", ["x"])
    before = await queue.client.dump(f"{queue.base}:job:x"), await places(queue)
    assert await worker.beat(claim) == ([claim.token], [])
    assert (await queue.client.dump(f"{queue.base}:job:x"), await places(queue)) == before


async def test_it_speaks_of_runs_and_not_of_jobs(queue: Queue, worker: Hand) -> None:
    """A worker may hold the second run of a job whose first it has lost."""
    await queue.enqueue("a", id="x")
    first = await worker.claim()
    await elapse(queue, 31_000)
    await worker.turn(want=0)
    await elapse(queue, 2000)
    second = await worker.claim()
    assert await worker.beat(first, second) == ([first.token], [])


async def test_it_tells_what_is_to_be_cancelled(queue: Queue, worker: Hand) -> None:
    """Again and again, until the worker says how it ended."""
    await queue.enqueue("a", id="x", unique="k")
    claim = await worker.claim()
    await queue.operate("cancel", ["x"])
    for _ in range(2):
        assert await worker.beat(claim) == ([], [claim.token])
    await worker.turn(ended(claim, "cancelled"))
    job = await queue.get("x")
    assert job
    assert (job.state, job.reason, job.attempts) == ("dead", "cancelled", 0)


async def test_it_puts_back_what_the_worker_never_heard_of(
    queue: Queue, worker: Hand, other: Hand
) -> None:
    """Its turn was executed, and the answer lost for good: the job is not, and keeps its place."""
    await queue.enqueue_many([NewJob(task="a", id=id_) for id_ in ("x", "y", "z")])
    x, _ = (await worker.turn(want=2)).claims
    await queue.client.delete(f"{queue.base}:wake")
    assert await worker.beat(x) == ([], [])
    assert await places(queue) == {"ready": ["y", "z"], "active": ["x"]}
    assert await queue.client.llen(f"{queue.base}:wake") == 1
    job = await queue.get("y")
    assert job
    assert (job.attempts, job.lost, [entry[1] for entry in job.log]) == (0, 0, ["unheard"])
    assert [claim.id for claim in (await other.turn(want=1)).claims] == ["y"]


async def test_but_not_while_a_turn_is_under_way(queue: Queue, worker: Hand) -> None:
    """Whose answer may bring what the worker does not know of yet."""
    await queue.enqueue("a", id="x")
    await worker.turn()
    assert await worker.beat(seq=worker.seq - 1) == ([], [])
    assert await places(queue) == {"active": ["x"]}


async def test_it_tells_who_works_here(queue: Queue, worker: Hand, other: Hand) -> None:
    """For as long as they do."""
    await worker.beat()
    await queue.client.zincrby(f"{queue.base}:workers", -900_001, "w1")
    await other.beat(tasks=["a"])
    assert await queue.client.zrange(f"{queue.base}:workers", 0, -1) == [b"w2"]
    assert await queue.client.hget(f"{queue.base}:worker:w2", "about") == b"{}"
    assert await queue.client.hkeys(f"{queue.base}:known") == [b"a"]


async def test_sent_twice_it_says_the_same(queue: Queue, worker: Hand) -> None:
    """And nothing moves."""
    await queue.enqueue_many([NewJob(task="a", id="x"), NewJob(task="a", id="y")])
    x, _ = (await worker.turn()).claims
    first = await worker.beat(x)
    before = await places(queue)
    assert await worker.beat(x) == first
    assert await places(queue) == before


async def test_progress_is_to_be_seen(queue: Queue, worker: Hand) -> None:
    """While the job runs."""
    await queue.enqueue("a", id="x")
    claim = await worker.claim()
    assert await worker.note(claim, "progress", "0.25") == 1
    job = await queue.get("x")
    assert job
    assert job.progress == 0.25


async def test_an_effect_is_granted_once_in_all_runs(queue: Queue, worker: Hand) -> None:
    """And to a call that is sent twice, both times."""
    await queue.enqueue("a", id="x")
    claim = await worker.claim()
    assert await worker.note(claim, "once", "mail", call=1) == 1
    before = await dump(queue.client)
    assert await worker.note(claim, "once", "mail", call=1) == 1
    assert await worker.note(claim, "once", "mail", call=2) == 0
    assert await dump(queue.client) == before
    assert await worker.note(claim, "once", "other", call=3) == 1
    await worker.turn(ended(claim, "release"), want=0)
    again = await worker.claim()
    assert await worker.note(again, "once", "mail", call=1) == 0


@pytest.mark.parametrize("what", ["progress", "once", "extend"])
@pytest.mark.parametrize("since", ["scheduled", "active", "forgotten"])
async def test_nothing_is_noted_after_the_lease_has_moved_on(
    queue: Queue, worker: Hand, other: Hand, what: str, since: str
) -> None:
    """Whoever has the job now."""
    await queue.enqueue("a", id="x")
    claim = await worker.claim()
    await elapse(queue, 31_000)
    await other.turn(want=0)
    if since == "active":
        await elapse(queue, 2000)
        await other.claim()
    elif since == "forgotten":
        await queue.operate("delete", ["x"])
    before = await dump(queue.client)
    assert await worker.note(claim, what, "1") == -1
    assert await dump(queue.client) == before
