"""The queues on Redis over HTTP: figures for everybody, jobs for operators, events, metrics."""

import asyncio
import json

import pytest
from prometheus_client.parser import text_string_to_metric_families
from redis.asyncio import Redis

from server.api.queues_events import QueuesEvent
from server.app import create_app
from server.queues_feed import QueuesFeed, TooManyWatchersError
from server.redisq import NewJob, Queue
from tests.redisq.hand import Hand, ended, places
from tests.redisq.servers import server as valkey_server
from tests.server.conftest import listening
from tests.server.queue_pages import ADMIN, beat, fill, settings_with

PATIENCE_S = 60.0
JOBS = "/api/queues/default/jobs"


@pytest.fixture(scope="module")
def valkey():
    """A server for the queue of jobs."""
    with valkey_server("valkey") as made:
        yield made


@pytest.fixture(scope="module")
def settings(settings, valkey, tmp_path_factory):
    """Of a server that is not in lab mode."""
    return settings_with(settings, valkey, tmp_path_factory.mktemp("data"), lab="off")


@pytest.fixture
async def queue(valkey):
    """The server's queue, empty."""
    async with Redis(unix_socket_path=valkey.socket) as client:
        await client.flushall()
        yield Queue(client, "default")


async def test_figures_are_open(client, queue):
    """Of the server's own queue and of all that anybody has used; they carry nothing of a job."""
    await fill(queue)
    await Queue(queue.client, "mail").enqueue("mail", {"secret": "x"})
    answer = await client.get("/api/queues")
    first, second = answer.json()["queues"]
    assert (first["name"], second["name"]) == ("default", "mail")
    states = {name: first[name] for name in ("ready", "scheduled", "active", "done", "dead")}
    assert set(states.values()) == {1}
    assert first["live_workers"] == 1
    assert first["recent"]["claimed"] == 3
    assert first["recent"]["failed_share"] == 0.5
    assert len(first["recent"]["minutes"]) == 15
    assert second["oldest_waiting_s"] >= 0
    assert "secret" not in answer.text
    one = await client.get("/api/queues/mail")
    assert one.json()["ready"] == 1
    gone = await client.get("/api/queues/nobody")
    assert (gone.status_code, gone.json()["detail"]) == (404, "There is no queue nobody.")


async def test_jobs_are_for_operators(client, queue):
    """Lists, one job, what is stuck, and every change."""
    await fill(queue)
    before = await places(queue)
    for method, path in (
        ("GET", f"{JOBS}?state=dead"),
        ("GET", f"{JOBS}/job-dead"),
        ("GET", "/api/queues/default/stuck"),
        ("POST", f"{JOBS}/job-dead/retry"),
        ("POST", f"{JOBS}?operation=delete"),
        ("POST", "/api/queues/default/pause"),
        ("PUT", "/api/queues/default/limits"),
    ):
        answer = await client.request(method, path, json={"state": "dead"})
        assert answer.status_code == 401, path
    assert await places(queue) == before


async def test_pages_of_jobs(client, queue):
    """Followed by the cursor, each comes once; a filter asks for some of them."""
    ids = await queue.enqueue_many([NewJob(task="a" if n % 3 else "b") for n in range(30)])
    seen, cursor = [], ""
    while cursor is not None:
        query = {"state": "ready", "limit": 7} | ({"cursor": cursor} if cursor else {})
        page = (await client.get(JOBS, params=query, headers=ADMIN)).json()
        seen += [job["id"] for job in page["jobs"]]
        cursor = page["cursor"]
    assert seen == ids
    page = (await client.get(f"{JOBS}?state=ready&task=b", headers=ADMIN)).json()
    assert ([job["task"] for job in page["jobs"]], page["looked"]) == (["b"] * 10, 30)
    bad = await client.get(f"{JOBS}?state=ready&cursor=1e999:a", headers=ADMIN)
    assert bad.status_code == 422


async def test_one_job(client, queue):
    """With its payload, its result, its errors, why it is where it is, and what would move it."""
    await fill(queue)
    done = (await client.get(f"{JOBS}/job-done", headers=ADMIN)).json()
    assert (done["result"], done["why"], done["mend"]) == ({"sent": True}, "ended", "retry")
    dead = (await client.get(f"{JOBS}/job-dead", headers=ADMIN)).json()
    assert (dead["job"]["reason"], dead["log"][-1]["what"]) == ("refused", "dead")
    active = (await client.get(f"{JOBS}/job-active", headers=ADMIN)).json()
    assert (active["why"], active["job"]["worker"]) == ("runs", "w1")
    assert active["job"]["lease_expires_at"] > active["job"]["claimed_at"]
    assert (await client.get(f"{JOBS}/nobody", headers=ADMIN)).status_code == 404
    stuck = (await client.get("/api/queues/default/stuck", headers=ADMIN)).json()["jobs"]
    assert [(one["job"]["id"], one["why"], one["mend"]) for one in stuck] == [
        ("job-scheduled", "due-later", "promote")
    ]


async def test_moving_one_job(client, queue):
    """And a conflict, in words, where its state does not allow it."""
    await fill(queue)
    for job, action, outcome in (
        ("job-scheduled", "promote", "ok"),
        ("job-dead", "retry", "ok"),
        ("job-done", "delete", "ok"),
        ("job-active", "cancel", "asked"),
    ):
        answer = await client.post(f"{JOBS}/{job}/{action}", headers=ADMIN)
        assert answer.json() == {"id": job, "outcome": outcome}
    for job, action in (("job-ready", "promote"), ("job-active", "give-up")):
        answer = await client.post(f"{JOBS}/{job}/{action}", headers=ADMIN)
        assert answer.status_code == 409
        assert "it is" in answer.json()["detail"]
    for action in ("retry", "give-up"):
        answer = await client.post(f"{JOBS}/nobody/{action}", headers=ADMIN)
        assert answer.status_code == 404


async def test_giving_up_a_job_whose_worker_is_gone(client, queue):
    """It comes back before its lease has run out."""
    await fill(queue)
    await queue.client.zincrby(f"{queue.base}:workers", -601_000, "w1")
    answer = await client.post(f"{JOBS}/job-active/give-up", headers=ADMIN)
    assert answer.status_code == 200
    job = await queue.get("job-active")
    assert (job.state, job.lost) == ("scheduled", 1)


async def test_moving_many(client, queue):
    """Step by step with the cursor, until it is null."""
    jobs = [NewJob(task="rare" if number % 2 else "mail") for number in range(260)]
    await queue.enqueue_many(jobs)
    wanted = {"state": "ready", "task": "rare"}
    moved = []
    while True:
        answer = await client.post(f"{JOBS}?operation=cancel", json=wanted, headers=ADMIN)
        step = answer.json()
        moved.append(step["moved"])
        if step["cursor"] is None:
            break
        wanted["cursor"] = step["cursor"]
    assert moved == [100, 30]
    bad = await client.post(f"{JOBS}?operation=promote", json=wanted, headers=ADMIN)
    assert bad.status_code == 422


async def test_pausing_and_limits(client, queue):
    """Each answers with the queue as it is then."""
    await fill(queue)
    path = "/api/queues/default"
    assert (await client.post(f"{path}/pause", headers=ADMIN)).json()["paused"]
    assert not (await client.post(f"{path}/resume", headers=ADMIN)).json()["paused"]
    wanted = {"concurrency": 4, "rate": {"count": 100, "seconds": 60}}
    limits = (await client.put(f"{path}/limits", json=wanted, headers=ADMIN)).json()["limits"]
    assert (limits["concurrency"], limits["rate_count"], limits["rate_s"]) == (4, 100, 60)
    wanted = {"concurrency": 4}
    limits = (await client.put(f"{path}/limits", json=wanted, headers=ADMIN)).json()["limits"]
    assert (limits["concurrency"], limits["rate_count"]) == (4, None)
    limits = (await client.put(f"{path}/limits", json={}, headers=ADMIN)).json()["limits"]
    assert limits["concurrency"] is None
    assert (await client.post(f"{path}/bring-back", headers=ADMIN)).status_code == 200


async def test_examples_are_taken(client, queue):
    """The example of each request is accepted as it stands."""
    await fill(queue)
    schemas = (await client.get("/api/openapi.json")).json()["components"]["schemas"]
    for schema, method, path in (
        ("JobsFilter", "POST", f"{JOBS}?operation=retry"),
        ("WantedLimits", "PUT", "/api/queues/default/limits"),
    ):
        [example] = schemas[schema]["examples"]
        answer = await client.request(method, path, json=example, headers=ADMIN)
        assert answer.status_code == 200, answer.text


async def test_events_tell_of_each_change(client, queue):
    """The figures at once, and again when they have changed; all of them each time."""
    await fill(queue)

    async def figures(lines):
        async with asyncio.timeout(PATIENCE_S):
            async for line in lines:
                if line.startswith("data:"):
                    return QueuesEvent.model_validate_json(line.removeprefix("data:"))
        return None

    async with client.stream("GET", "/api/queues/events", timeout=None) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = response.aiter_lines()
        first = await figures(lines)
        assert first is not None
        assert first.outbox is not None
        assert [one.ready for one in first.queues or []] == [1]
        await queue.enqueue("mail", {"secret": "x"})
        while True:
            event = await figures(lines)
            assert event is not None
            if [one.ready for one in event.queues or []] == [2]:
                break
    assert "secret" not in event.model_dump_json()


async def test_many_watch_at_the_cost_of_one():
    """One reads for all; beyond the bound nobody is let in; the last one out ends it."""
    reads = 0

    async def read():
        nonlocal reads
        reads += 1
        await asyncio.sleep(0)
        return f'{{"read": {reads}}}', str(reads)

    feed = QueuesFeed(read, most=3, every_s=0)
    async with feed.watching() as one, feed.watching() as two, feed.watching():
        with pytest.raises(TooManyWatchersError):
            async with feed.watching():
                pass
        told = [json.loads(await anext(aiter(each)))["read"] for each in (one, two)]
        assert max(told) <= reads
    assert feed.watchers == 0
    read_by_then = reads
    for _ in range(10):
        await asyncio.sleep(0)
    assert reads <= read_by_then + 1
    feed.close()
    async with feed.watching() as late:
        assert [data async for data in late] == []


async def test_a_reader_that_fails_lets_everybody_go():
    """Who comes back finds a new one."""
    fail = True

    async def read():
        if fail:
            raise RuntimeError("no")
        await asyncio.sleep(0)
        return "{}", ""

    feed = QueuesFeed(read, every_s=60)
    async with feed.watching() as told:
        assert [data async for data in told] == []
    fail = False
    async with feed.watching() as told:
        assert await anext(aiter(told)) == "{}"
    feed.close()


async def test_metrics_tell_of_the_queues(client, queue):
    """Depth, age, outcomes, losses, turns and limits; what was counted is what happened."""
    await fill(queue)
    worker = Hand(queue, "w2")
    await queue.enqueue("mail")
    await queue.configure({"concurrency": 7, "rate_count": 30, "rate_ms": 60_000})
    claims = (await worker.turn()).claims
    await worker.turn(*(ended(claim, "retry", 60_000, b"no") for claim in claims), want=0)
    await worker.turn(ended(claims[0], "retry", 0, b"late"), want=0)
    await beat(worker)
    text = (await client.get("/api/metrics", headers=ADMIN)).text
    seen = {
        (sample.name, *(v for k, v in sorted(sample.labels.items()) if k != "queue")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith("workers_queue")
    }
    expected = {
        ("workers_queue_up",): 1,
        ("workers_queue_jobs", "scheduled"): 1 + len(claims),
        ("workers_queue_jobs", "active"): 1,
        ("workers_queue_enqueued_total",): 6,
        ("workers_queue_claimed_total",): 3 + len(claims),
        ("workers_queue_settled_total", "done"): 1,
        ("workers_queue_settled_total", "failed"): 1 + len(claims),
        ("workers_queue_settled_total", "dead"): 1,
        ("workers_queue_late_total",): 1,
        ("workers_queue_lost_total",): 0,
        ("workers_queue_live_workers",): 2,
        ("workers_queue_concurrency_limit",): 7,
        ("workers_queue_rate_limit",): 0.5,
        ("workers_queue_turn_seconds",): 0.0025,
        ("workers_queue_paused",): 0,
        ("workers_queue_overdue_leases",): 0,
    }
    assert {name: seen.get(name) for name in expected} == expected
    assert seen["workers_queue_since_turn_seconds",] >= 0.04
    assert ("workers_queue_wait_seconds", "0.95") in seen


async def test_metrics_without_redis(settings, valkey, database):
    """The outbox's are there all the same."""
    nowhere = settings.model_copy(update={"redis_url": f"unix://{valkey.folder}/nowhere"})
    async with listening(create_app(nowhere, database)) as client:
        text = (await client.get("/api/metrics", headers=ADMIN)).text
        assert "workers_queue_up 0.0" in text
        assert "workers_deliveries{" in text
        assert (await client.get("/api/queues")).status_code == 503
