"""What an operator does to jobs, and what an audit finds."""

from __future__ import annotations

import pytest
from redis.asyncio import Redis

from server.redisq import Job, NewJob, Queue
from server.redisq.audit import audit
from server.redisq.queue import Operation
from server.redisq.scripts import script
from tests.redisq.hand import Hand, dump, ended, places

STATES = ("ready", "scheduled", "active", "done", "dead")


async def in_state(queue: Queue, worker: Hand, state: str) -> None:
    """Bring a job x there."""
    await queue.enqueue("a", id="x", unique="k", delay_s=60 if state == "scheduled" else 0)
    if state in {"ready", "scheduled"}:
        return
    claim = await worker.claim()
    if state == "done":
        await worker.turn(ended(claim, text=b"7"))
    elif state == "dead":
        await worker.turn(ended(claim, "dead", text=b"no"))


ANSWERS: dict[Operation, tuple[str, ...]] = {
    "retry": ("ready", "scheduled", "active", "ok", "ok"),
    "promote": ("ready", "ok", "active", "done", "dead"),
    "cancel": ("ok", "ok", "asked", "done", "dead"),
    "delete": ("ok", "ok", "active", "ok", "ok"),
}
AFTER: dict[Operation, str | None] = {
    "retry": "ready",
    "promote": "ready",
    "cancel": "dead",
    "delete": None,
}


@pytest.mark.parametrize("what", list(ANSWERS))
@pytest.mark.parametrize("state", STATES)
async def test_each_operation_in_each_state(
    queue: Queue, worker: Hand, state: str, what: Operation
) -> None:
    """Done where it makes sense, else refused by the state, with nothing changed."""
    await in_state(queue, worker, state)
    expected = ANSWERS[what][STATES.index(state)]
    before = await places(queue)
    assert await queue.operate(what, ["x"]) == {"x": expected}
    if expected != "ok":
        assert await places(queue) == before
    else:
        after = AFTER[what]
        assert await places(queue) == ({after: ["x"]} if after else {})
        job = await queue.get("x")
        assert (job.log[-1][1] if job else None) == (what if after else None)
    if what == "delete" and expected == "ok":
        assert await queue.client.keys(f"{queue.base}:*x") == []
        assert await queue.enqueue("a", unique="k") != "x"


async def test_a_retried_job_starts_afresh(queue: Queue, worker: Hand) -> None:
    """With all its attempts, and without what was."""
    await queue.enqueue("a", id="x", max_attempts=2)
    await worker.turn(ended(await worker.claim(), "retry", 0, b"no"), want=0)
    await worker.turn(ended(await worker.claim(), "retry", 0, b"no"), want=0)
    assert await queue.operate("retry", ["x"]) == {"x": "ok"}
    job = await queue.get("x")
    assert isinstance(job, Job)
    assert (job.state, job.attempts, job.lost) == ("ready", 0, 0)
    assert (job.error, job.reason, job.result, job.ended_ms) == (None, None, None, None)
    await worker.turn(ended(await worker.claim(), text=b"7"))
    assert await queue.operate("retry", ["x"]) == {"x": "ok"}
    await worker.turn(ended(await worker.claim(), text=b"8"))
    job = await queue.get("x")
    assert job
    assert job.result == 8


async def test_a_retry_does_not_take_a_key_that_is_anothers(queue: Queue, worker: Hand) -> None:
    """Until that has ended."""
    await in_state(queue, worker, "dead")
    other = await queue.enqueue("a", unique="k")
    assert await queue.operate("retry", ["x"]) == {"x": "taken"}
    await worker.turn(ended(await worker.claim()))
    assert await queue.operate("retry", ["x"]) == {"x": "ok"}
    assert await queue.enqueue("a", unique="k") == "x"
    assert await queue.operate("retry", [other]) == {other: "taken"}


async def test_many_at_once_each_have_their_answer(queue: Queue) -> None:
    """More than one script takes, too."""
    await queue.enqueue_many([NewJob(task="a", id=f"j{n}", delay_s=60) for n in range(700)])
    ids = ["nobody", *(f"j{n}" for n in range(700))]
    answers = await queue.operate("promote", ids)
    assert answers == {"nobody": "missing"} | dict.fromkeys(ids[1:], "ok")


async def test_an_operation_that_is_sent_twice_is_done_once(queue: Queue, worker: Hand) -> None:
    """Even if the job has run and ended in between."""
    await in_state(queue, worker, "dead")
    call = ["retry", "call-7", "x", "y"]
    first = await script("operate").run(queue.client, queue.base, call)
    assert first == [b"ok", b"missing"]
    await worker.turn(ended(await worker.claim()))
    before = await dump(queue.client)
    assert await script("operate").run(queue.client, queue.base, call) == first
    assert await dump(queue.client) == before


BREAKS = {
    "no-job": ("ready", "DEL {base}:job:x"),
    "no-place": ("ready", "ZREM {base}:ready x"),
    "two-places": ("scheduled", "ZADD {base}:dead 1 x"),
    "wrong-place": ("dead", "HSET {base}:job:x state done"),
    "unheld": ("active", "SREM {base}:held:w1 x"),
    "unique-free": ("active", "DEL {base}:unique:k"),
    "unique-kept": ("done", "SET {base}:unique:k x"),
}


@pytest.mark.parametrize("fault", list(BREAKS))
async def test_an_audit_finds_every_fault(client: Redis, fault: str) -> None:
    """And nothing in a queue that is sound; a name with signs of a pattern does not mislead it."""
    queue = Queue(client, "sound", prefix="odd[x]*")
    state, break_it = BREAKS[fault]
    await in_state(queue, Hand(queue), state)
    await queue.enqueue_many([NewJob(task="a") for _ in range(600)])
    assert await audit(client, queue.base) == {}
    await client.execute_command(*break_it.format(base=queue.base).split())
    assert await audit(client, queue.base) == {"x": fault}
