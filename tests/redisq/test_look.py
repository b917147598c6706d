"""What people see of a queue: figures, pages, and why something stands still."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence

import pytest

from server.redisq import (
    Filter,
    InvalidCursorError,
    NewJob,
    Queue,
    bring_back,
    give_up,
    jobs_page,
    look_at,
    operate_matching,
    queue_names,
    reason_of,
    row_of,
    stuck,
)
from server.redisq.figures import WINDOW_MINUTES, recent
from server.redisq.model import Claim
from server.redisq.reasons import MENDS, MOVING, REASONS
from server.redisq.scripts import script
from tests.redisq.hand import Hand, elapse, ended, places

MINUTE = 60_000


async def beat(worker: Hand, *held: Claim, tasks: Sequence[str] = ("mail",)) -> None:
    """Say that this worker lives and knows these tasks, as a real one says it."""
    about = json.dumps({"host": "h", "pid": 7, "concurrency": 4, "tasks": list(tasks),
                        "lease_ms": 600_000, "since_turn_ms": 12, "turn_ms": 1.5})  # fmt: skip
    values = [worker.name, worker.seq, 0, 30_000, about, len(tasks), *tasks]
    for claim in held:
        values += (claim.id, claim.token)
    await script("heartbeat").run(worker.client, worker.base, values)


def test_percentiles_are_right_to_within_their_bucket() -> None:
    """Of any spans, counted as the scripts count them."""
    chance = random.Random(7)  # noqa: S311 - chance that can be repeated
    for size in (1, 2, 19, 500):
        spans = [math.floor(chance.expovariate(1 / 300)) for _ in range(size)]
        counted: dict[bytes, bytes] = {}
        for span in spans:
            name = b"~w%d" % (0 if span < 1 else span.bit_length())
            counted[name] = b"%d" % (int(counted.get(name, b"0")) + 1)
        told = recent([counted, *[{}] * (WINDOW_MINUTES - 1)], 90 * MINUTE).waits
        assert told.count == size
        for share, seen in ((0.5, told.p50_ms), (0.95, told.p95_ms)):
            true = sorted(spans)[math.ceil(share * size) - 1]
            assert seen is not None
            assert true / 2 <= seen <= max(1, 2 * true)


def test_the_last_minutes_add_up() -> None:
    """Sums, a rate by the time that has really passed, and a share of what ended."""
    minutes: list[dict[bytes, bytes]] = [
        {b"done": b"30", b"failed": b"10", b"~w3": b"40", b"~r5": b"30"},
        {b"done": b"60", b"lost": b"2", b"late": b"1", b"dead": b"3"},
        *[{}] * (WINDOW_MINUTES - 2),
    ]
    told = recent(minutes, 100 * MINUTE + 30_000)
    assert (told.claimed, told.done, told.failed, told.lost) == (40, 90, 10, 2)
    assert (told.late, told.dead, told.failed_share) == (1, 3, 0.1)
    assert told.window_s == 870
    assert told.done_per_minute == pytest.approx(60 * 90 / 870)
    assert [one.done for one in told.minutes][-2:] == [60, 30]
    assert told.minutes[-1].at_ms == 100 * MINUTE
    nothing = recent([{}] * WINDOW_MINUTES, 90 * MINUTE)
    assert (nothing.failed_share, nothing.waits.p50_ms, nothing.done_per_minute) == (None, None, 0)


async def test_a_look_tells_what_is_where(queue: Queue, worker: Hand) -> None:
    """Counts, ages, totals and workers, all of one moment."""
    await queue.enqueue_many([NewJob(task="mail", payload=number) for number in range(5)])
    later = await queue.enqueue("mail", delay_s=60)
    claims = (await worker.turn(want=3)).claims
    await worker.turn(
        ended(claims[0], "done", text=b"1"), ended(claims[1], "dead", text=b"no"), want=0
    )
    await beat(worker, claims[2])
    await queue.configure({"concurrency": 9, "rate_count": 5, "rate_ms": 60_000})
    await elapse(queue, 2000)
    seen = await look_at(queue)
    assert seen.counts == {"ready": 2, "scheduled": 1, "active": 1, "done": 1, "dead": 1}
    assert seen.oldest_ms is not None
    assert seen.oldest_ms >= 2000
    row = await row_of(queue, later)
    assert row is not None
    assert seen.next_due_ms == row.due_ms
    totals = {name: seen.totals[name] for name in ("enqueued", "claimed", "done", "failed", "dead")}
    assert totals == {"enqueued": 6, "claimed": 3, "done": 1, "failed": 1, "dead": 1}
    assert (seen.recent.claimed, seen.recent.done, seen.recent.failed) == (3, 1, 1)
    assert (seen.limits.concurrency, seen.limits.rate_count, seen.limits.rate_ms) == (9, 5, 60_000)
    [one] = seen.workers
    assert (one.id, one.alive, one.holds, one.host, one.pid) == ("w1", True, 1, "h", 7)
    assert (list(one.tasks), one.turned_ms, one.turn_ms) == (["mail"], 12, 1.5)
    assert (seen.knows("mail"), seen.knows("fax")) == (True, False)


async def test_a_look_at_nothing(queue: Queue) -> None:
    """An empty queue, and a worker that says nothing of itself."""
    seen = await look_at(queue)
    assert (sum(seen.counts.values()), seen.oldest_ms, seen.next_due_ms) == (0, None, None)
    assert (seen.paused, seen.overdue_leases, list(seen.workers)) == (False, 0, [])
    await script("heartbeat").run(queue.client, queue.base, ["w9", 0, 0, 30_000, "no json", 0])
    [one] = (await look_at(queue)).workers
    assert (one.id, one.host, list(one.tasks)) == ("w9", None, [])


@pytest.mark.parametrize("state", ["ready", "scheduled", "dead"])
async def test_pages_give_each_job_once(queue: Queue, worker: Hand, state: str) -> None:
    """In order, also among jobs that have the same place in it."""
    at = 4e9 if state == "scheduled" else None
    ids = await queue.enqueue_many([NewJob(task="mail", at=at) for _ in range(23)])
    if state == "dead":
        claims = (await worker.turn()).claims
        await worker.turn(*(ended(claim, "dead", text=b"no") for claim in claims), want=0)
    seen: list[str] = []
    cursor = None
    while True:
        page = await jobs_page(queue, state, cursor=cursor, limit=5)  # type: ignore[arg-type]
        seen += [row.id for row in page.rows]
        cursor = page.cursor
        if cursor is None:
            break
    assert sorted(seen) == sorted(ids)
    assert len(seen) == len(set(seen))
    if state == "ready":
        assert seen == ids


async def test_a_page_follows_one_that_has_gone(queue: Queue) -> None:
    """What stays is not left out, when the job at which a page ended moves away."""
    ids = await queue.enqueue_many([NewJob(task="mail") for _ in range(9)])
    first = await jobs_page(queue, "ready", limit=4)
    await queue.operate("delete", ids[1:4])
    rest = await jobs_page(queue, "ready", cursor=first.cursor)
    assert {row.id for row in rest.rows} >= set(ids[4:])


@pytest.mark.parametrize("cursor", ["", "x", "1", "1:", "nan:a", "inf:a", ":a", "1:a b", "1:\n"])
async def test_what_is_no_cursor_is_refused(queue: Queue, cursor: str) -> None:
    """Before anything is asked of the server."""
    with pytest.raises(InvalidCursorError):
        await jobs_page(queue, "ready", cursor=cursor)


async def test_a_filter_looks_at_so_many_and_leads_on(queue: Queue) -> None:
    """A page with nothing on it may have a next one."""
    jobs = [NewJob(task="rare" if number == 700 else "mail") for number in range(750)]
    ids = await queue.enqueue_many(jobs)
    first = await jobs_page(queue, "ready", only=Filter(task="rare"))
    assert (list(first.rows), first.looked) == ([], 500)
    second = await jobs_page(queue, "ready", only=Filter(task="rare"), cursor=first.cursor)
    assert ([row.id for row in second.rows], second.cursor) == ([ids[700]], None)
    few = await jobs_page(queue, "ready", only=Filter(task="mail"), limit=10)
    assert (len(few.rows), few.looked) == (10, 10)


async def test_steps_work_through_a_list(queue: Queue) -> None:
    """A hundred at a time, only those that are meant, and each once."""
    jobs = [NewJob(task="rare" if number % 2 else "mail") for number in range(250)]
    await queue.enqueue_many(jobs)
    moved, cursor, steps = 0, None, 0
    while True:
        only = Filter(task="rare")
        step = await operate_matching(queue, "cancel", "ready", only=only, cursor=cursor)
        assert step.matched == step.moved <= 100
        moved, cursor, steps = moved + step.moved, step.cursor, steps + 1
        if cursor is None:
            break
    assert (moved, steps) == (125, 2)
    assert (await look_at(queue)).counts["ready"] == 125
    with pytest.raises(ValueError, match="not for jobs that are ready"):
        await operate_matching(queue, "retry", "ready")


async def _stand_still(queue: Queue, worker: Hand, reason: str) -> None:  # noqa: C901, PLR0912
    """Bring a job into a state from which it does not move for that reason."""
    if reason in {"due-later", "retry-later", "lost-later", "overdue", "ended"}:
        await beat(worker)
    match reason:
        case "due-later":
            await queue.enqueue("mail", delay_s=900)
        case "overdue":
            await queue.enqueue("mail", delay_s=1)
            await elapse(queue, 2000)
        case "retry-later":
            await queue.enqueue("mail")
            claim = await worker.claim()
            await worker.turn(ended(claim, "retry", 900_000, b"no"), want=0)
        case "lost-later":
            await queue.enqueue("mail")
            await worker.claim()
            await elapse(queue, 31_000)
            await worker.turn(want=0)
            # Its pause is a second; a machine that is slow must not take longer than it.
            await elapse(queue, -900_000)
        case "no-worker":
            await queue.enqueue("mail")
        case "no-handler":
            await queue.enqueue("fax")
            await beat(worker)
        case "next" | "paused" | "concurrency" | "rate":
            await queue.enqueue_many([NewJob(task="mail") for _ in range(2)])
            await beat(worker)
            if reason == "paused":
                await queue.pause()
            elif reason == "concurrency":
                await queue.configure({"concurrency": 1})
                await beat(worker, await worker.claim())
            elif reason == "rate":
                await queue.configure({"rate_count": 1, "rate_ms": 3_600_000})
                await beat(worker, await worker.claim())
        case "ended":
            await queue.enqueue("mail")
            await worker.turn(ended(await worker.claim(), "done"), want=0)
        case _:
            await queue.enqueue("mail")
            claim = await worker.claim(lease_ms=30_000 if reason == "lease-overdue" else 3_600_000)
            await beat(worker, claim)
            if reason == "lease-overdue":
                await elapse(queue, 31_000)
            elif reason == "cancel-asked":
                await queue.operate("cancel", [claim.id])
            elif reason == "worker-gone":
                await queue.client.zincrby(f"{queue.base}:workers", -601_000, worker.name)


@pytest.mark.parametrize("reason", REASONS)
async def test_each_reason_is_told_and_mended(queue: Queue, worker: Hand, reason: str) -> None:
    """The one thing that is said to help does: the job is where a worker can take it."""
    await _stand_still(queue, worker, reason)
    look = await look_at(queue)
    rows = [
        row
        for state in ("ready", "scheduled", "active", "done")
        for row in (await jobs_page(queue, state)).rows  # type: ignore[arg-type]
    ]
    told = {reason_of(row, look): row for row in rows}
    assert reason in told
    row, mend = told[reason], MENDS[reason]  # type: ignore[index]
    found = {why for _, why in await stuck(queue, look)}
    assert (reason in found) == (reason not in MOVING)
    match mend:
        case "bring-back":
            await bring_back(queue)
        case "give-up":
            await give_up(queue, [row.id])
        case "resume":
            await queue.resume()
        case "unlimit":
            await queue.configure({"concurrency": None})
        case "unrate":
            await queue.configure({"rate_count": None, "rate_ms": None})
        case "promote" | "retry":
            assert await queue.operate(mend, [row.id]) == {row.id: "ok"}
        case "start":
            await beat(Hand(queue, "w3"), tasks=["fax", "mail"])
        case None:
            return
    after = await row_of(queue, row.id)
    assert after is not None
    now = reason_of(after, await look_at(queue))
    if mend in {"bring-back", "give-up"}:
        # Its pause is a second, which may be over.
        assert (after.state, after.lost) == ("scheduled", 1)
        assert now in {"lost-later", "overdue", "no-worker"}
    else:
        assert now == "next"


async def test_giving_up_is_fenced(queue: Queue, worker: Hand, other: Hand) -> None:
    """The worker that lived after all is told, and what it settles no longer counts."""
    await queue.enqueue("mail")
    claim = await worker.claim()
    await give_up(queue, [claim.id])
    assert (await worker.beat(claim)).lost == [claim.token]
    await queue.operate("promote", [claim.id])
    again = await other.claim()
    assert (await worker.turn(ended(claim), want=0)).verdicts == ["late"]
    assert (await other.turn(ended(again), want=0)).verdicts == ["ok"]


async def test_giving_up_what_waits_changes_nothing(queue: Queue) -> None:
    """Only what runs has a lease."""
    id_ = await queue.enqueue("mail")
    await give_up(queue, [id_, "nobody"])
    assert await places(queue) == {"ready": [id_]}


async def test_queues_are_known_by_name(queue: Queue) -> None:
    """Whoever has put something in, or has worked on it."""
    assert await queue_names(queue.client) == []
    await queue.enqueue("mail")
    await Queue(queue.client, "a:b").enqueue("mail")
    assert await queue_names(queue.client) == ["a:b", "mail"]
