"""Jobs that come again and again."""

from __future__ import annotations

from typing import Any

import pytest
from redis.asyncio import Redis

from server.redisq import InvalidJobError, Queue, RunningJob, Tasks, TooManyRepeatsError, repeats
from server.redisq.audit import audit
from server.redisq.scripts import script
from tests.redisq.hand import Hand, dump, elapse, ended, places
from tests.redisq.servers import Server
from tests.redisq.work import at_work, make_worker, until

MINUTE = 60_000
# `elapse` moves the series into the past, not the clock forward: so its times, and the ids of its
# jobs, are the same again, and a job must be forgotten for the next to come.
KEEP_S = 50


async def series(queue: Queue) -> repeats.Repeat:
    """The only one."""
    [found] = await queue.repeats()
    return found


async def test_an_interval_comes_again_and_again(queue: Queue, worker: Hand) -> None:
    """On its grid, each job with what the series says."""
    how = {"priority": 2, "max_attempts": 3, "timeout_s": 7, "keep_s": KEEP_S}
    await queue.repeat("tidy", "sweep", {"room": 1}, every=60, **how)  # type: ignore[arg-type]
    assert (await worker.turn()).claims == []
    first = await series(queue)
    for count in (1, 2, 3):
        await elapse(queue, MINUTE)
        claim = await worker.claim()
        job = await queue.get(claim.id)
        assert job
        assert (job.task, job.payload, job.priority) == ("sweep", {"room": 1}, 2)
        assert (job.max_attempts, claim.timeout_ms) == (3, 7000)
        now = await series(queue)
        assert (now.occurred, now.last_id) == (count, claim.id)
        # The clock of the test moved by a minute, and so did the series.
        assert now.next_ms == first.next_ms
        turn = await worker.turn(ended(claim))
        assert turn.claims == []
        assert turn.due_ms is not None
        assert turn.due_ms <= MINUTE


async def test_at_most_one_of_a_series_waits_or_runs(queue: Queue, worker: Hand) -> None:
    """Waiting, running or waiting for another attempt: what falls due meanwhile is skipped."""
    await queue.repeat("tidy", "a", every=60, keep_s=KEEP_S)
    await elapse(queue, MINUTE)
    await worker.turn(want=0)
    assert len((await places(queue))["ready"]) == 1
    await elapse(queue, MINUTE)
    claim = await worker.claim()
    await elapse(queue, MINUTE)
    turn = await worker.turn(ended(claim, "retry", 90_000))
    assert turn.claims == []
    await elapse(queue, MINUTE)
    assert (await worker.turn()).claims == []
    await elapse(queue, MINUTE)
    again = await worker.claim()
    assert (again.id, again.attempts) == (claim.id, 1)
    await worker.turn(ended(again), want=0)
    found = await series(queue)
    assert found.occurred == 1
    assert found.skipped == 4
    await elapse(queue, MINUTE)
    assert (await worker.claim()).attempts == 0
    assert (await series(queue)).occurred == 2


@pytest.mark.parametrize("rhythm", [{"every": 60}, {"cron": "* * * * *"}])
async def test_what_was_missed_is_one_run(
    queue: Queue, worker: Hand, rhythm: dict[str, Any]
) -> None:
    """However long no worker ran."""
    await queue.repeat("tidy", "a", **rhythm)
    await elapse(queue, 100 * MINUTE)
    turn = await worker.turn()
    await repeats.answer(queue.client, queue.base, turn.questions)
    assert len(turn.claims) == 1
    turn = await worker.turn(ended(turn.claims[0]))
    assert turn.claims == []
    assert (await series(queue)).occurred == 1
    assert 0 < (turn.due_ms or 0) <= MINUTE


async def test_a_cron_line_is_asked_for_until_somebody_answers(
    queue: Queue, worker: Hand, other: Hand
) -> None:
    """So a worker that dies with the question takes nothing with it."""
    await queue.repeat("report", "a", cron="*/5 * * * *", timezone="Europe/Berlin")
    await elapse(queue, 5 * MINUTE)
    turn = await worker.turn()
    [question] = turn.questions
    assert (question.cron, question.zone) == ("*/5 * * * *", "Europe/Berlin")
    assert (await series(queue)).next_ms is None
    # Sent again, since its answer was lost: then somebody else is asked.
    assert (await worker.turn(seq=worker.seq)).questions == []
    assert (await other.turn()).questions == []
    await elapse(queue, 5000)
    [again] = (await other.turn()).questions
    assert again.after_ms == question.after_ms - 5000
    due = await repeats.answer(queue.client, queue.base, [again])
    assert due is not None
    assert due <= 5 * MINUTE
    now = await series(queue)
    assert now.next_ms
    assert now.next_ms % (5 * MINUTE) == 0
    assert now.occurred == 1
    # The first worker answers after all, too late.
    before = await dump(queue.client)
    late = await repeats.answer(queue.client, queue.base, [question])
    assert late is not None
    assert late <= due
    assert await dump(queue.client) == before


async def test_what_falls_due_before_anybody_answers_is_one_run(queue: Queue, worker: Hand) -> None:
    """It is reckoned from the last time, not from when somebody answers."""
    await queue.repeat("report", "a", cron="* * * * *", keep_s=KEEP_S)
    await elapse(queue, MINUTE)
    turn = await worker.turn()
    await worker.turn(ended(turn.claims[0]))
    await elapse(queue, 60 * MINUTE)
    [question] = (await worker.turn()).questions
    assert await repeats.answer(queue.client, queue.base, [question]) == 0
    turn = await worker.turn()
    assert len(turn.claims) == 1
    await repeats.answer(queue.client, queue.base, turn.questions)
    assert (await worker.turn(ended(turn.claims[0]))).claims == []
    assert (await series(queue)).occurred == 2


async def test_the_same_definition_changes_nothing(queue: Queue) -> None:
    """So a program may define its series whenever it starts."""
    await queue.repeat("tidy", "a", 1, every=60)
    await queue.repeat("report", "a", 1, cron="0  3 * * *", timezone="Europe/Berlin")
    before = await dump(queue.client)
    await queue.repeat("tidy", "a", 1, every=60)
    await queue.repeat("report", "a", 1, cron="0 3 * * *", timezone="Europe/Berlin")
    assert await dump(queue.client) == before


@pytest.mark.parametrize("state", ["ready", "scheduled", "active"])
async def test_a_change_takes_effect(queue: Queue, worker: Hand, state: str) -> None:
    """What waits of the former definition is replaced, what runs goes on."""
    await queue.repeat("tidy", "old", every=60)
    await elapse(queue, MINUTE)
    turn = await worker.turn(want=0 if state == "ready" else 1)
    if state == "scheduled":
        await worker.turn(ended(turn.claims[0], "retry", 3_600_000), want=0)
    await queue.repeat("tidy", "new", every=3600)
    if state == "active":
        assert await places(queue) == {"active": [turn.claims[0].id]}
        await worker.turn(ended(turn.claims[0]), want=0)
        await elapse(queue, 60 * MINUTE)
    else:
        assert await places(queue) == {}
    assert (await worker.claim()).task == "new"
    assert (await series(queue)).occurred == 2


async def test_an_answer_about_a_former_definition_is_none(queue: Queue, worker: Hand) -> None:
    """Nor about one that is gone."""
    await queue.repeat("report", "a", cron="* * * * *")
    await elapse(queue, MINUTE)
    turn = await worker.turn()
    await queue.repeat("report", "a", cron="0 0 1 1 *")
    before = await dump(queue.client)
    await repeats.answer(queue.client, queue.base, turn.questions)
    assert await dump(queue.client) == before
    await worker.turn(ended(turn.claims[0]), want=0)
    assert await queue.remove_repeat("report")
    before = await dump(queue.client)
    assert await repeats.answer(queue.client, queue.base, turn.questions) is None
    assert await dump(queue.client) == before


async def test_a_series_that_ends_leaves_nothing_that_waits(queue: Queue, worker: Hand) -> None:
    """What runs may end; nothing comes after it."""
    await queue.repeat("tidy", "a", every=60)
    await elapse(queue, MINUTE)
    await worker.turn(want=0)
    assert await queue.remove_repeat("tidy")
    assert (await places(queue), await queue.repeats()) == ({}, [])
    assert not await queue.remove_repeat("tidy")
    await queue.repeat("tidy", "a", every=60)
    await elapse(queue, MINUTE)
    claim = await worker.claim()
    assert await queue.remove_repeat("tidy")
    assert (await worker.turn(ended(claim))).verdicts == ["ok"]
    await elapse(queue, 10 * MINUTE)
    turn = await worker.turn()
    assert (turn.claims, turn.due_ms) == ([], None)


async def test_an_end_that_is_sent_twice_has_one_answer(queue: Queue) -> None:
    """Though the series is gone by then."""
    await queue.repeat("tidy", "a", every=60)
    call = ["end", "tidy", "call-1"]
    assert await script("series").run(queue.client, queue.base, call) == 1
    assert await script("series").run(queue.client, queue.base, call) == 1


async def test_one_more_run_now(queue: Queue, worker: Hand) -> None:
    """By the series' unique key: beside it, none of the series runs."""
    await queue.repeat("tidy", "a", every=60)
    id_ = await queue.enqueue("a", unique="repeat:tidy")
    await elapse(queue, MINUTE)
    assert [claim.id for claim in (await worker.turn()).claims] == [id_]
    assert (await series(queue)).skipped == 1


async def test_a_time_comes_once_though_the_clock_is_put_back(queue: Queue, worker: Hand) -> None:
    """As after a failover to a server that is behind."""
    await queue.repeat("tidy", "a", every=60)
    await elapse(queue, MINUTE)
    claim = await worker.claim()
    await worker.turn(ended(claim), want=0)
    at = int(claim.id.rpartition(":")[2])
    await queue.client.zadd(f"{queue.base}:repeats", {"tidy": at})
    await queue.client.hset(f"{queue.base}:meta", "repeats_ms", at)
    assert (await worker.turn()).claims == []


BAD: list[tuple[str, dict[str, Any]]] = [
    ("every", {}),
    ("every", {"every": 60, "cron": "* * * * *"}),
    ("every", {"every": 0.5}),
    ("every", {"every": float("nan")}),
    ("every", {"every": "60"}),
    ("timezone", {"every": 60, "timezone": "UTC"}),
    ("timezone", {"cron": "* * * * *", "timezone": "Europe/Bonn"}),
    ("timezone", {"cron": "* * * * *", "timezone": "../etc/passwd"}),
    ("cron", {"cron": "* * 31 2 *"}),
    ("priority", {"every": 60, "priority": 5000}),
    ("name", {"every": 60, "name": "x" * 81}),
    ("payload", {"every": 60, "payload": object()}),
]


@pytest.mark.parametrize(("field", "given"), BAD, ids=[f"{n}-{f}" for n, (f, _) in enumerate(BAD)])
async def test_bad_definitions_are_refused(queue: Queue, field: str, given: dict[str, Any]) -> None:
    """By the name of what is wrong, before the server is asked."""
    with pytest.raises(InvalidJobError) as refused:
        await queue.repeat(**{"name": "tidy", "task": "a"} | given)
    assert refused.value.field == field
    assert await dump(queue.client) == {}


async def test_there_are_so_many_series_and_no_more(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is there may still be changed."""
    monkeypatch.setattr(repeats, "MOST", 2)
    await queue.repeat("one", "a", every=60)
    await queue.repeat("two", "a", every=60)
    with pytest.raises(TooManyRepeatsError):
        await queue.repeat("three", "a", every=60)
    await queue.repeat("two", "a", every=70)
    assert [found.name for found in await queue.repeats()] == ["one", "two"]


BREAKS = {
    "no-series": "DEL {base}:repeat:tidy",
    "no-time": "ZREM {base}:repeats tidy",
    "overslept": "HSET {base}:meta repeats_ms 9999999999999",
}


@pytest.mark.parametrize("fault", list(BREAKS))
async def test_an_audit_knows_series(client: Redis, fault: str) -> None:
    """And tells them by their names."""
    queue = Queue(client, "sound")
    await queue.repeat("tidy", "a", every=60)
    assert await audit(client, queue.base) == {}
    client_: Any = client
    await client_.execute_command(*BREAKS[fault].format(base=queue.base).split())
    assert await audit(client, queue.base) == {"repeat:tidy": fault}


async def test_a_worker_runs_a_series(queue: Queue, redis_server: Server) -> None:
    """It answers what it is asked, and sleeps until the next time."""
    tasks, runs = Tasks(), []

    @tasks.task("tick")
    async def tick(job: RunningJob) -> None:
        runs.append(job.id)

    async with at_work(make_worker(redis_server, queue, tasks, poll_s=30)):
        await queue.repeat("tidy", "tick", every=1)
        await queue.repeat("yearly", "tick", cron="0 0 1 1 *")
        await queue.client.zadd(f"{queue.base}:repeats", {"yearly": 1})
        await queue.client.hset(f"{queue.base}:meta", "repeats_ms", 1)

        async def ran() -> bool:
            known = all(found.next_ms for found in await queue.repeats())
            return known and len([id_ for id_ in runs if "tidy" in id_]) > 1 and "yearly:1" in runs

        await until(ran)
    assert len(set(runs)) == len(runs)
