"""What enqueueing takes, refuses, and leaves alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from redis.asyncio import Redis

from server.redisq import (
    InvalidJobError,
    NewJob,
    OutOfMemoryError,
    Queue,
    QueueFullError,
)
from tests.redisq.conftest import client_of
from tests.redisq.hand import Hand, dump, elapse, ended, places
from tests.redisq.servers import server


async def server_s(client: Redis) -> float:
    """Return the server's clock, in seconds since 1970."""
    seconds, micros = await client.time()
    return seconds + micros / 1e6


async def test_a_job_lies_there_as_it_was_given(queue: Queue) -> None:
    """Every field comes back; its times are the server's."""
    before = await server_s(queue.client)
    id_ = await queue.enqueue(
        "send", {"to": "ä", "n": [1, None]}, priority=3, max_attempts=7, unique="k"
    )
    job = await queue.get(id_)
    assert job
    assert (job.state, job.task, job.payload) == ("ready", "send", {"to": "ä", "n": [1, None]})
    assert (job.priority, job.max_attempts, job.unique) == (3, 7, "k")
    assert (job.attempts, job.lost, job.token, job.log) == (0, 0, 0, [])
    assert (job.claimed_ms, job.ended_ms, job.lease_ms, job.worker) == (None, None, None, None)
    assert before * 1000 - 1 <= job.queued_ms <= await server_s(queue.client) * 1000
    assert job.due_ms == pytest.approx(job.queued_ms, abs=1)


async def test_the_same_id_is_the_same_job(queue: Queue) -> None:
    """Whatever else is said the second time."""
    assert await queue.enqueue("a", 1, id="x") == "x"
    before = await dump(queue.client)
    assert await queue.enqueue("b", 2, id="x", priority=9, unique="u") == "x"
    assert await dump(queue.client) == before


@pytest.mark.parametrize("state", ["ready", "scheduled", "active", "done", "dead"])
async def test_the_same_id_is_the_same_job_in_every_state(
    queue: Queue, worker: Hand, state: str
) -> None:
    """A job that has ended counts for as long as it is kept."""
    await queue.enqueue("a", id="x", delay_s=9 if state == "scheduled" else 0)
    if state in {"active", "done", "dead"}:
        claim = await worker.claim()
        if state != "active":
            await worker.turn(ended(claim, state))  # type: ignore[arg-type]
    before = await dump(queue.client)
    assert await queue.enqueue("b", 2, id="x") == "x"
    assert await dump(queue.client) == before
    assert await places(queue) == {state: ["x"]}


async def test_a_unique_key_is_free_again_once_its_job_has_ended(
    queue: Queue, worker: Hand
) -> None:
    """While it waits or runs, the key leads to it."""
    first = await queue.enqueue("a", unique="k")
    assert await queue.enqueue("a", unique="k") == first
    claim = await worker.claim()
    assert await queue.enqueue("a", unique="k") == first
    await worker.turn(ended(claim, "retry", delay_ms=5000))
    assert await queue.enqueue("a", unique="k") == first
    await elapse(queue, 6000)
    await worker.turn(ended(await worker.claim()))
    second = await queue.enqueue("a", unique="k")
    assert second != first
    await worker.turn(ended(await worker.claim(), "dead"))
    assert await queue.enqueue("a", unique="k") not in {first, second}


async def test_ids_and_keys_count_within_one_call(queue: Queue) -> None:
    """The first of those that are the same is taken."""
    jobs = [
        NewJob(task="a", id="x", unique="k"),
        NewJob(task="b", id="x"),
        NewJob(task="c", id="y", unique="k"),
        NewJob(task="d", id="z"),
    ]
    assert await queue.enqueue_many(jobs) == ["x", "x", "x", "z"]
    assert await places(queue) == {"ready": ["x", "z"]}
    job = await queue.get("x")
    assert job
    assert job.task == "a"


async def test_what_is_sent_twice_changes_nothing(queue: Queue) -> None:
    """As a client does when a reply is lost."""
    jobs = [NewJob(task="a", id=f"j{n}", unique=f"u{n % 3}", delay_s=n % 2) for n in range(6)]
    ids = await queue.enqueue_many(jobs)
    before = await dump(queue.client)
    assert await queue.enqueue_many(jobs) == ids == ["j0", "j1", "j2", "j0", "j1", "j2"]
    assert await dump(queue.client) == before


async def test_a_full_queue_takes_all_or_nothing(client: Redis) -> None:
    """Ready and scheduled jobs count; those that are there already do not."""
    queue = Queue(client, "small", max_waiting=3)
    await queue.enqueue("a", id="x")
    await queue.enqueue("a", id="y", delay_s=60)
    before = await dump(client)
    with pytest.raises(QueueFullError) as refused:
        await queue.enqueue_many([NewJob(task="a"), NewJob(task="a", unique="u")])
    assert (refused.value.waiting, refused.value.limit) == (2, 3)
    assert await dump(client) == before
    again = [NewJob(task="a", id="x"), NewJob(task="a", id="y"), NewJob(task="a", id="z")]
    assert await queue.enqueue_many(again) == ["x", "y", "z"]
    assert await queue.enqueue("a", id="z") == "z"


async def test_delayed_jobs_wait_until_the_servers_clock_says_so(queue: Queue) -> None:
    """By a span, or at a time; a time that has passed is now."""
    now = await server_s(queue.client)
    await queue.enqueue("a", id="later", delay_s=5)
    await queue.enqueue("a", id="at", at=now + 60)
    await queue.enqueue("a", id="past", at=now - 60)
    assert await places(queue) == {"ready": ["past"], "scheduled": ["later", "at"]}
    job = await queue.get("at")
    assert job
    assert job.due_ms == round((now + 60) * 1000)


async def test_a_priority_is_a_head_start(queue: Queue, worker: Hand) -> None:
    """A minute each: so what is less urgent comes before it once it has waited that long."""
    await queue.enqueue("a", id="old")
    await elapse(queue, 61_000)
    await queue.enqueue_many(
        [
            NewJob(task="a", id="usual"),
            NewJob(task="a", id="two", priority=2),
            NewJob(task="a", id="one", priority=1),
            NewJob(task="a", id="idle", priority=-1),
        ]
    )
    claims = (await worker.turn()).claims
    assert [claim.id for claim in claims] == ["two", "old", "one", "usual", "idle"]


async def test_jobs_are_taken_in_the_order_in_which_they_came(queue: Queue, worker: Hand) -> None:
    """Within one call, and from call to call; also those that fall due together."""
    order = [f"{letter}{n}" for letter in "zya" for n in range(30, 0, -1)]
    for letter in "zya":
        await queue.enqueue_many([NewJob(task="a", id=i) for i in order if i[0] == letter])
    assert [claim.id for claim in (await worker.turn(want=90)).claims] == order
    later = ["n", "m", "l"]
    await queue.enqueue_many([NewJob(task="a", id=id_, delay_s=5) for id_ in later])
    await elapse(queue, 6000)
    assert [claim.id for claim in (await worker.turn()).claims] == later


async def test_many_jobs_go_in_parts(queue: Queue) -> None:
    """Their ids come back in order."""
    ids = await queue.enqueue_many([NewJob(task="a", payload=n) for n in range(1201)])
    assert len(set(ids)) == 1201
    job = await queue.get(ids[1200])
    assert job
    assert job.payload == 1200


async def test_a_script_that_the_server_forgot_is_sent_again(queue: Queue, worker: Hand) -> None:
    """Whichever it is."""
    await queue.enqueue("a")
    await queue.client.script_flush()
    claim = await worker.claim()
    await queue.client.script_flush()
    await worker.beat(claim)
    await queue.client.script_flush()
    assert await worker.note(claim, "progress", "0.5") == 1
    await queue.client.script_flush()
    assert await queue.operate("cancel", [claim.id]) == {claim.id: "asked"}
    await queue.client.script_flush()
    assert await queue.enqueue_many([NewJob(task="b", id="x")]) == ["x"]


BAD: list[tuple[str, dict[str, Any]]] = [
    ("task", {"task": ""}),
    ("task", {"task": "a b"}),
    ("task", {"task": 7}),
    ("task", {"task": "a,b"}),
    ("id", {"id": ""}),
    ("id", {"id": "x" * 101}),
    ("id", {"id": 7}),
    ("unique", {"unique": ""}),
    ("unique", {"unique": "x" * 201}),
    ("unique", {"unique": 7}),
    ("at", {"at": 5.0, "delay_s": 1.0}),
    ("at", {"at": -1.0}),
    ("at", {"at": float("inf")}),
    ("at", {"at": float("nan")}),
    ("delay_s", {"delay_s": -1}),
    ("delay_s", {"delay_s": float("nan")}),
    ("delay_s", {"delay_s": "5"}),
    ("priority", {"priority": 1001}),
    ("priority", {"priority": 1.5}),
    ("priority", {"priority": True}),
    ("max_attempts", {"max_attempts": 0}),
    ("max_attempts", {"max_attempts": 2.5}),
    ("timeout_s", {"timeout_s": 0}),
    ("timeout_s", {"timeout_s": None}),
    ("keep_s", {"keep_s": -1}),
    ("payload", {"payload": object()}),
    ("payload", {"payload": float("nan")}),
    ("payload", {"payload": "\ud800"}),
    ("payload", {"payload": "x" * 1_048_576}),
]


@pytest.mark.parametrize(("field", "given"), BAD, ids=[f"{n}-{f}" for n, (f, _) in enumerate(BAD)])
async def test_bad_input_is_refused_by_its_name(
    queue: Queue, field: str, given: dict[str, Any]
) -> None:
    """Before anything is sent, the good ones beside it included."""
    with pytest.raises(InvalidJobError) as refused:
        await queue.enqueue_many([NewJob(task="fine"), NewJob(**{"task": "a"} | given)])
    assert refused.value.field == field
    assert await dump(queue.client) == {}


@pytest.fixture
async def tiny(engine: str) -> AsyncIterator[Redis]:
    """A server of its own whose memory a test may fill."""
    with server(engine, "--maxmemory-policy", "noeviction") as made:
        async with client_of(made) as client:
            yield client


async def test_when_memory_is_full_nothing_is_taken_and_everything_else_goes_on(
    tiny: Redis,
) -> None:
    """So that work goes on, and frees what is missing."""
    queue, worker = Queue(tiny, "mail"), Hand(Queue(tiny, "mail"))
    await queue.enqueue_many([NewJob(task="a", id=f"j{n}") for n in range(3)])
    first = await worker.claim()
    await tiny.config_set("maxmemory", 1)
    before = await dump(tiny)
    with pytest.raises(OutOfMemoryError):
        await queue.enqueue("a", id="new")
    with pytest.raises(OutOfMemoryError):
        await queue.enqueue("a", id="new", replicas=1)
    with pytest.raises(OutOfMemoryError):
        await queue.repeat("often", "a", every=1)
    assert await dump(tiny) == before
    await queue.pause()
    assert (await queue.depth()).paused
    await queue.configure({"concurrency": 2})
    assert (await worker.turn(want=1)).claims == []
    await queue.resume()
    assert await worker.beat(first) == ([], [])
    assert await worker.note(first, "once", "effect") == 1
    turn = await worker.turn(ended(first, text=b'"fine"'), want=1)
    assert turn.verdicts == ["ok"]
    assert [claim.id for claim in turn.claims] == ["j1"]
    assert await queue.operate("cancel", ["j2"]) == {"j2": "ok"}
    assert (await queue.purge("dead")).gone == 1
    assert not await queue.remove_repeat("often")
    await tiny.config_set("maxmemory", 0)
    assert await queue.enqueue("a", id="new") == "new"
