"""Forgetting many jobs by what they are."""

from __future__ import annotations

import pytest

from server.redisq import NewJob, Queue
from server.redisq.scripts import script
from tests.redisq.hand import Hand, dump, elapse, ended, places


async def purge_all(queue: Queue, state: str, look: int = 1000, **of: object) -> list[int]:
    """Purge until the end; return what each call has done away with."""
    gone, cursor = [], 0
    while True:
        done = await queue.purge(state, look=look, cursor=cursor, **of)  # type: ignore[arg-type]
        gone.append(done.gone)
        if done.cursor is None:
            return gone
        cursor = done.cursor


@pytest.mark.parametrize("state", ["ready", "scheduled", "done", "dead"])
async def test_nothing_stays_behind(queue: Queue, worker: Hand, state: str) -> None:
    """No hash, no log, no unique key; what is in other places stays."""
    delay = 60 if state == "scheduled" else 0
    jobs = [NewJob(task="a", id=f"x{n}", unique=f"k{n}", delay_s=delay) for n in range(5)]
    await queue.enqueue_many(jobs)
    if state in {"done", "dead"}:
        claims = (await worker.turn()).claims
        await worker.turn(*(ended(claim, state, text=b"1") for claim in claims), want=0)  # type: ignore[arg-type]
    await queue.enqueue("a", id="running", priority=9)
    await worker.claim()
    other = "scheduled" if state == "ready" else "ready"
    await queue.enqueue("a", id="other", delay_s=60 if other == "scheduled" else 0)
    assert await purge_all(queue, state) == [5]
    assert await places(queue) == {"active": ["running"], other: ["other"]}
    assert await queue.client.keys(f"{queue.base}:*:x*") == []
    assert await queue.client.keys(f"{queue.base}:unique:*") == []


async def test_what_is_meant_is_said_by_task_reason_and_age(queue: Queue, worker: Hand) -> None:
    """All of what is said must fit."""
    await queue.enqueue_many([NewJob(task=task, id=task) for task in "abc"])
    await queue.operate("cancel", ["c"])
    claims = {claim.id: claim for claim in (await worker.turn()).claims}
    await worker.turn(ended(claims["a"], "dead"), want=0)
    await elapse(queue, 60_000)
    await queue.client.hincrbyfloat(f"{queue.base}:job:a", "ended_ms", -60_000)
    await worker.turn(ended(claims["b"], "dead"), want=0)
    assert (await queue.purge("dead", task="a", reason="cancelled")).gone == 0
    assert (await queue.purge("dead", task="nobody")).gone == 0
    assert (await queue.purge("dead", reason="refused", older_s=59)).gone == 1
    assert (await places(queue))["dead"] == ["c", "b"]
    assert (await queue.purge("dead", reason="cancelled")).gone == 1
    assert (await queue.purge("dead", task="b", older_s=60)).gone == 0
    assert (await places(queue))["dead"] == ["b"]


async def test_a_call_looks_at_so_many_and_the_next_goes_on(queue: Queue) -> None:
    """A queue at work stays at work; in the end nothing that was meant is left."""
    await queue.enqueue_many([NewJob(task="ab"[n % 2], id=f"j{n}") for n in range(1000)])
    gone = await purge_all(queue, "ready", look=100, task="a")
    assert sum(gone) == 500
    assert len(gone) > 5
    assert max(gone) <= 100
    assert (await queue.depth()).ready == 500


async def test_a_call_that_is_sent_twice_says_the_same(queue: Queue) -> None:
    """Though there is nothing left by then."""
    await queue.enqueue_many([NewJob(task="a") for _ in range(3)])
    call = ["call-1", "ready", 0, 1000, "", "", ""]
    first = await script("purge").run(queue.client, queue.base, call)
    assert first == [b"0", 3, 3]
    before = await dump(queue.client)
    assert await script("purge").run(queue.client, queue.base, call) == first
    assert await dump(queue.client) == before


async def test_what_runs_cannot_be_purged(queue: Queue) -> None:
    """It belongs to its worker."""
    with pytest.raises(ValueError, match="active"):
        await queue.purge("active")  # type: ignore[arg-type]
