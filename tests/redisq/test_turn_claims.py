"""What a turn hands out, and how much of it: limits, pause, names, wake-ups, retention."""

from __future__ import annotations

import pytest

from server.redisq import NewJob, Queue
from tests.redisq.hand import Hand, elapse, ended, places


async def fill(queue: Queue, count: int, task: str = "a") -> None:
    """Enqueue that many jobs."""
    await queue.enqueue_many([NewJob(task=task, id=f"{task}{n:03}") for n in range(count)])


async def told(queue: Queue) -> int:
    """Take the wake-ups that lie there, and return how many there were."""
    found = await queue.client.llen(f"{queue.base}:wake")
    await queue.client.delete(f"{queue.base}:wake")
    return int(found)


async def test_tokens_grow_with_every_claim(queue: Queue, worker: Hand, other: Hand) -> None:
    """Of the whole queue, and beyond what it remembers: a failover may lose the last of them."""
    await fill(queue, 20)
    tokens = [
        claim.token for hand in (worker, other) * 3 for claim in (await hand.turn(want=3)).claims
    ]
    await queue.client.hdel(f"{queue.base}:meta", "token")
    tokens += [claim.token for claim in (await worker.turn()).claims]
    assert len(tokens) == 20
    assert tokens == sorted(set(tokens))


async def test_no_more_run_than_the_limit_allows(queue: Queue, worker: Hand, other: Hand) -> None:
    """On all workers together, and it may be changed meanwhile."""
    await fill(queue, 10)
    await queue.configure({"concurrency": 3})
    first = await worker.turn(want=2)
    assert len(first.claims) == 2
    assert len((await other.turn()).claims) == 1
    assert (await other.turn()).claims == []
    assert len((await worker.turn(ended(first.claims[0]))).claims) == 1
    await queue.configure({"concurrency": 1})
    assert (await worker.turn(ended(first.claims[1]))).claims == []
    await queue.configure({"concurrency": None})
    assert len((await worker.turn()).claims) == 6


async def test_no_more_start_than_the_rate_allows(queue: Queue, worker: Hand) -> None:
    """So many at once after a rest, then evenly, and the answer says when the next may."""
    await fill(queue, 12)
    await queue.configure({"rate_count": 4, "rate_ms": 60_000})
    turn = await worker.turn()
    assert len(turn.claims) == 4
    assert turn.due_ms
    assert turn.due_ms <= 15_000
    turn = await worker.turn(*map(ended, turn.claims))
    assert turn.claims == []
    assert turn.due_ms
    assert 0 < turn.due_ms <= 15_000
    await elapse(queue, 15_000)
    assert len((await worker.turn()).claims) == 1
    await elapse(queue, 600_000)
    assert len((await worker.turn()).claims) == 4


@pytest.mark.parametrize("count", [1, 3, 7, 29, 49, 93, 97])
async def test_a_rate_that_does_not_divide_is_kept_whole(
    queue: Queue, worker: Hand, count: int
) -> None:
    """No job less for the sake of a fraction."""
    await fill(queue, 2 * count)
    await queue.configure({"rate_count": count, "rate_ms": 100_000})
    assert len((await worker.turn()).claims) == count
    await elapse(queue, 100_000)
    assert len((await worker.turn()).claims) == count


async def test_a_rest_is_not_told_of_where_nothing_waits(queue: Queue, worker: Hand) -> None:
    """An idle worker need not look again because of the rate."""
    await fill(queue, 1)
    await queue.configure({"rate_count": 1, "rate_ms": 60_000})
    turn = await worker.turn(ended(await worker.claim()))
    assert turn.due_ms is None


async def test_a_paused_queue_hands_out_nothing_and_settles_everything(
    queue: Queue, worker: Hand
) -> None:
    """Due jobs come to wait there; resumed, it wakes a worker."""
    await fill(queue, 2)
    claim = await worker.claim()
    await queue.enqueue("a", id="later", delay_s=1)
    await queue.pause()
    await elapse(queue, 2000)
    turn = await worker.turn(ended(claim))
    assert (turn.verdicts, turn.claims, turn.paused) == (["ok"], [], True)
    assert await places(queue) == {"ready": ["a001", "later"], "done": ["a000"]}
    assert (await queue.depth()).paused
    await told(queue)
    for _ in range(3):
        await queue.resume()
    assert await told(queue) == 1
    turn = await worker.turn()
    assert (len(turn.claims), turn.paused) == (2, False)


async def test_one_wake_up_lies_there_at_most(queue: Queue) -> None:
    """Whoever takes it passes it on while there is more."""
    await fill(queue, 5)
    await fill(queue, 5, "b")
    assert await told(queue) == 1


async def test_a_worker_with_full_hands_wakes_another(queue: Queue, worker: Hand) -> None:
    """But not when nothing is left."""
    await fill(queue, 5)
    await told(queue)
    await worker.turn(want=2)
    assert await told(queue) == 1
    await worker.turn(want=0)
    assert await told(queue) == 1
    await worker.turn(want=3)
    assert await told(queue) == 0


@pytest.mark.parametrize("want", [0, 1, 100])
@pytest.mark.parametrize("limit", ["concurrency", "rate", "pause"])
async def test_nobody_is_woken_for_what_nobody_may_have(
    queue: Queue, worker: Hand, other: Hand, limit: str, want: int
) -> None:
    """Else workers would wake each other without end."""
    await fill(queue, 5)
    if limit == "concurrency":
        await queue.configure({"concurrency": 1})
    elif limit == "rate":
        await queue.configure({"rate_count": 1, "rate_ms": 60_000})
    await worker.turn(want=1)
    if limit == "pause":
        await queue.pause()
    await told(queue)
    assert (await other.turn(want=want)).claims == []
    assert await told(queue) == 0


async def test_a_sleeper_learns_of_what_falls_due_first(queue: Queue) -> None:
    """And is left alone for what falls due later than it looks anyway."""
    await queue.enqueue("a", delay_s=100)
    assert await told(queue) == 1
    await queue.enqueue("a", delay_s=200)
    assert await told(queue) == 0
    await queue.enqueue("a", delay_s=50)
    assert await told(queue) == 1


async def test_an_unknown_name_waits_for_a_worker_that_knows_it(
    queue: Queue, worker: Hand, other: Hand
) -> None:
    """It does not hold up what lies behind it."""
    await fill(queue, 3, "odd")
    await fill(queue, 2)
    await told(queue)
    turn = await worker.turn(want=2, tasks="a")
    assert [claim.task for claim in turn.claims] == ["a", "a"]
    assert await queue.client.zcard(f"{queue.base}:scheduled") == 3
    assert await told(queue) == 1
    await elapse(queue, 1000)
    turn = await other.turn(tasks="a,odd")
    assert [claim.task for claim in turn.claims] == ["odd", "odd", "odd"]


async def test_many_unknown_names_are_looked_at_up_to_a_bound(queue: Queue, worker: Hand) -> None:
    """And the answer says that there is more behind them."""
    await queue.enqueue_many([NewJob(task="odd") for _ in range(150)])
    await fill(queue, 2)
    turn = await worker.turn(want=2, tasks="a")
    assert (turn.claims, turn.due_ms) == ([], 0)
    assert len((await worker.turn(want=2, tasks="a")).claims) == 2


async def test_a_name_that_nobody_has_known_for_long_is_dead(queue: Queue, worker: Hand) -> None:
    """With its reason."""
    await fill(queue, 1, "odd")
    await worker.turn(tasks="a", unknown_ms=5000)
    await elapse(queue, 4000)
    await worker.turn(tasks="a", unknown_ms=5000)
    assert list(await places(queue)) == ["scheduled"]
    await elapse(queue, 2000)
    await worker.turn(tasks="a", unknown_ms=5000)
    job = await queue.get("odd000")
    assert job
    assert (job.state, job.reason, job.error) == (
        "dead",
        "no-handler",
        "no worker knows a task odd",
    )
    await queue.operate("retry", ["odd000"])
    await worker.turn(tasks="a", unknown_ms=5000)
    assert list(await places(queue)) == ["scheduled"]


async def test_a_name_is_not_dead_while_a_worker_lives_that_knows_it(
    queue: Queue, worker: Hand, other: Hand
) -> None:
    """Though that has its hands full all the time, and another looks again and again."""
    await fill(queue, 1, "odd")
    for _ in range(4):
        await other.beat(tasks=["odd", "more"])
        await worker.turn(tasks="a", unknown_ms=5000)
        await elapse(queue, 4000)
    assert list(await places(queue)) == ["scheduled"]


async def test_no_more_are_kept_than_the_queue_keeps(queue: Queue, worker: Hand) -> None:
    """The oldest go first, with all that belongs to them, and the dead are counted."""
    await queue.configure({"keep_done": 2, "keep_dead": 1})
    await fill(queue, 6)
    claims = (await worker.turn()).claims
    for number, claim in enumerate(claims):
        await worker.turn(ended(claim, "done" if number % 2 else "dead"))
        await elapse(queue, 10)
    assert await places(queue) == {"done": ["a003", "a005"], "dead": ["a004"]}
    assert await queue.client.hget(f"{queue.base}:meta", "dead_dropped") == b"2"
    assert await queue.get("a001") is None


async def test_no_more_bytes_are_kept_than_the_queue_keeps(queue: Queue, worker: Hand) -> None:
    """Payload and result count."""
    await queue.configure({"keep_bytes": 2500})
    jobs = [NewJob(task="a", id=f"j{n}", payload="x" * 498) for n in range(4)]
    await queue.enqueue_many(jobs)
    for claim in (await worker.turn()).claims:
        await worker.turn(ended(claim, text=b"y" * 500))
        await elapse(queue, 10)
    assert await places(queue) == {"done": ["j2", "j3"]}
    assert await queue.client.hget(f"{queue.base}:meta", "done_bytes") == b"2000"


async def test_the_dead_go_after_their_time(queue: Queue, worker: Hand) -> None:
    """A turn that settles nothing sees to it too."""
    await queue.configure({"keep_dead_ms": 5000})
    await fill(queue, 1)
    await worker.turn(ended(await worker.claim(), "dead"))
    await elapse(queue, 4000)
    await worker.turn()
    assert list(await places(queue)) == ["dead"]
    await elapse(queue, 2000)
    await worker.turn()
    assert await places(queue) == {}


@pytest.mark.parametrize(
    "settings",
    [
        {"concurrency": 0},
        {"keep_done": -1},
        {"rate_count": 5},
        {"rate_ms": 5},
        {"rate_count": 5, "rate_ms": None},
        {"token": 5},
        {"paused": 1},
    ],
    ids=str,
)
async def test_what_is_no_setting_is_refused(queue: Queue, settings: dict[str, int]) -> None:
    """And nothing is changed."""
    with pytest.raises(ValueError, match=r"must be|belong|not a setting"):
        await queue.configure(settings)  # type: ignore[arg-type]
    assert await queue.client.keys() == []


async def test_depth_counts_what_is_where(queue: Queue, worker: Hand) -> None:
    """And says for how long the next one has been due."""
    depth = await queue.depth()
    assert (depth.ready, depth.next_ready_ms, depth.paused) == (0, None, False)
    await fill(queue, 6)
    claims = (await worker.turn(want=4)).claims
    outcomes = ended(claims[0]), ended(claims[1], "dead"), ended(claims[2], "retry", 9000)
    await worker.turn(*outcomes, want=0)
    await elapse(queue, 3000)
    depth = await queue.depth()
    assert (depth.ready, depth.scheduled, depth.active, depth.done, depth.dead) == (2, 1, 1, 1, 1)
    assert depth.next_ready_ms
    assert 3000 <= depth.next_ready_ms < 60_000
