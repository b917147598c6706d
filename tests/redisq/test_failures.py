"""What has gone wrong in other queues, as far as no other test is about it, and the list of it all.

The list is docs/redis-queue-failures.md, where each case has its number.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import re
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from server import redisq
from server.redisq import NewJob, Queue, RunningJob, Tasks, Worker, WorkerOptions
from tests.redisq.chaos.proxy import Proxy
from tests.redisq.conftest import client_of
from tests.redisq.hand import Hand, assert_sound, elapse, ended, places
from tests.redisq.servers import Server, server
from tests.redisq.work import PATIENCE_S, all_done, at_work, make_worker, seen, until

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tasks() -> Tasks:
    """One task that does nothing."""
    made = Tasks()

    @made.task("nothing")
    async def nothing(_: RunningJob) -> None:
        pass

    return made


@contextlib.asynccontextmanager
async def proxy_to(socket: str) -> AsyncIterator[Proxy]:
    """Lend a proxy."""
    with tempfile.TemporaryDirectory(prefix="rqp-") as name:
        proxy = Proxy(Path(name) / "p", socket)
        async with proxy.open():
            yield proxy


def through(proxy: Proxy, seconds: float = 20) -> Redis:
    """Return a client that goes through it, and sends nothing twice by itself."""
    how = Retry(NoBackoff(), 0)
    return Redis(unix_socket_path=str(proxy.listen), retry=how, socket_timeout=seconds)


@pytest.mark.parametrize("way", ["at once", "woken"])
async def test_what_is_claimed_while_it_stops_is_given_back(
    queue: Queue, redis_server: Server, tasks: Tasks, way: str
) -> None:
    """T3, T4: the answer that hands out a job is on its way when the worker is told to stop."""
    async with proxy_to(redis_server.socket) as proxy:
        clients = through(proxy), through(proxy)
        options = WorkerOptions(poll_s=10)
        worker = Worker(*clients, queue.base, tasks, options=options)
        proxy.hold(b"nothing")
        if way == "at once":
            id_ = await queue.enqueue("nothing", max_attempts=1)
        async with at_work(worker):
            if way == "woken":
                await idle(queue)
                id_ = await queue.enqueue("nothing", max_attempts=1)
            await asyncio.wait_for(proxy.asked(), PATIENCE_S)
            assert await places(queue) == {"active": [id_]}
            worker.stop()
            proxy.let_go()
        job = await queue.get(id_)
    assert job
    assert (job.state, job.attempts, job.lost) == ("ready", 0, 0)


async def idle(queue: Queue) -> None:
    """Return once a worker waits in its blocking pop."""

    async def there() -> bool:
        return int((await queue.client.info("clients"))["blocked_clients"]) > 0

    await until(there)


async def test_the_slot_of_a_worker_that_was_killed_is_free_after_its_lease(
    queue: Queue, worker: Hand, other: Hand
) -> None:
    """T11: what nobody runs any longer does not count against the limit."""
    await queue.configure({"concurrency": 1})
    await queue.enqueue_many([NewJob(task="a") for _ in range(2)])
    await worker.claim(lease_ms=30_000)
    assert (await other.turn()).claims == []
    await elapse(queue, 31_000)
    assert len((await other.turn()).claims) == 1


async def test_a_failure_while_the_server_is_away_is_kept_until_it_is_back(
    engine: str, tasks: Tasks
) -> None:
    """T13: the job is tried again, and the attempt is counted."""
    started, go_on = asyncio.Event(), asyncio.Event()

    @tasks.task("flaky")
    async def flaky(job: RunningJob) -> int:
        if job.attempt == 1:
            started.set()
            await go_on.wait()
            raise RuntimeError("not yet")
        return job.attempt

    with server(engine, "--appendonly", "yes", "--appendfsync", "always") as made:
        async with client_of(made) as client:
            queue = Queue(client, "mail")
            id_ = await queue.enqueue("flaky")
            worker = make_worker(made, queue, tasks)
            async with at_work(worker):
                await started.wait()
                made.kill()
                go_on.set()

                async def being_tried() -> bool:
                    return worker.turns.taken_answered < worker.turns.taken

                await until(being_tried)
                made.start()
                await seen(queue, id_, "scheduled", "ready", "active")
                await queue.operate("promote", [id_])
                job = await seen(queue, id_, "done")
            assert (job.result, job.attempts, job.lost) == (2, 1, 0)
            await assert_sound(queue)


async def test_a_delay_longer_than_a_lease_is_no_loss(queue: Queue, worker: Hand) -> None:
    """T14: what is due later is under no lease, and is not handed out before its time."""
    id_ = await queue.enqueue("a", delay_s=3600)
    for _ in range(3):
        await elapse(queue, 1_000_000)
        assert (await worker.turn(lease_ms=1000)).claims == []
    await elapse(queue, 1_000_000)
    claim = await worker.claim()
    assert (claim.id, claim.lost) == (id_, 0)


async def test_no_more_is_claimed_than_can_begin(
    queue: Queue, redis_server: Server, tasks: Tasks
) -> None:
    """T18: a job that waits in a worker's memory would use up its lease there."""
    started, go_on = asyncio.Event(), asyncio.Event()

    @tasks.task("long")
    async def long(_: RunningJob) -> None:
        started.set()
        await go_on.wait()

    ids = await queue.enqueue_many([NewJob(task="long") for _ in range(5)])
    async with at_work(make_worker(redis_server, queue, tasks, concurrency=2)):
        await started.wait()
        now = await places(queue)
        assert (set(now["active"]), now["ready"]) == (set(ids[:2]), ids[2:])
        go_on.set()
        await all_done(queue, 5)


async def test_a_wait_whose_connection_falls_silent_costs_a_poll(
    queue: Queue, redis_server: Server, tasks: Tasks
) -> None:
    """T28, T29, T60: nothing comes back, nothing is closed, and jobs are found all the same."""
    async with proxy_to(redis_server.socket) as proxy:
        client = client_of(redis_server)
        options = WorkerOptions(poll_s=0.2)
        worker = Worker(client, through(proxy, 0.8), queue.base, tasks, options=options)
        async with at_work(worker):
            proxy.fall_silent()
            for count in range(1, 4):
                await queue.enqueue("nothing")
                await all_done(queue, count)


async def test_a_worker_that_gets_no_answer_shows_it(
    queue: Queue, redis_server: Server, tasks: Tasks
) -> None:
    """T31, T63: `last_turn` is the time of the last answer, and not of the last attempt."""
    async with proxy_to(redis_server.socket) as proxy:
        options = WorkerOptions(poll_s=0.1)
        worker = Worker(through(proxy), through(proxy), queue.base, tasks, options=options)
        async with at_work(worker):
            await queue.enqueue("nothing")
            await all_done(queue, 1)
            proxy.hold()
            await asyncio.wait_for(proxy.asked(), PATIENCE_S)
            before = worker.last_turn
            await queue.enqueue("nothing")
            # Several polls: what it asks is answered, and the answers do not come.
            await asyncio.sleep(5 * options.poll_s)
            assert worker.last_turn == before
            proxy.let_go()
            await all_done(queue, 2)
            assert worker.last_turn > before


async def test_while_the_server_is_away_it_is_asked_now_and_then(
    queue: Queue, tasks: Tasks
) -> None:
    """T32: not in a loop that takes a whole processor."""
    async with proxy_to("/nowhere") as proxy:
        options = WorkerOptions(poll_s=0.5, grace_s=0)
        worker = Worker(through(proxy), through(proxy), queue.base, tasks, options=options)
        running = asyncio.create_task(worker.run())
        began = time.monotonic()

        async def asked() -> bool:
            return proxy.connections >= 6

        await until(asked)
        # Three loops, of which the fastest waits a tenth of a second at first.
        assert proxy.connections <= 6 + 3 * (time.monotonic() - began) / 0.1
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_a_rate_and_an_id_without_a_job_stop_nothing(queue: Queue, worker: Hand) -> None:
    """T39: what is gone takes nobody's turn, and is not counted as a start."""
    await queue.configure({"rate_count": 1, "rate_ms": 1000})
    ids = await queue.enqueue_many([NewJob(task="a") for _ in range(2)])
    await queue.client.delete(f"{queue.base}:job:{ids[0]}")
    claims = (await worker.turn()).claims
    for _ in range(3):
        if claims:
            break
        claims = (await worker.turn()).claims
    assert [claim.id for claim in claims] == [ids[1]]


async def test_what_is_kept_beside_the_jobs_is_bounded(queue: Queue, worker: Hand) -> None:
    """T49: a job's story has 20 lines, and whatever else is not the queue's own goes by itself."""
    id_ = await queue.enqueue("a")
    for _ in range(25):
        await worker.turn(ended(await worker.claim(), "release"), want=0)
    job = await queue.get(id_)
    assert job
    assert len(job.log) == 20
    await worker.beat()
    await queue.operate("cancel", [id_])
    passing = [
        key async for key in queue.client.scan_iter()
        if key.startswith(tuple(f"{queue.base}:{kind}:".encode()
                                for kind in ("minute", "call", "worker")))
    ]  # fmt: skip
    assert len(passing) >= 3
    assert all([await queue.client.pttl(key) > 0 for key in passing])


async def test_a_server_that_wants_replicas_is_waited_for(
    engine: str, tasks: Tasks, caplog: pytest.LogCaptureFixture
) -> None:
    """T58: with `min-replicas-to-write` one that was cut off takes nothing that it would lose."""
    with server(engine) as made:
        async with client_of(made) as client:
            queue = Queue(client, "mail")
            worker = make_worker(made, queue, tasks, poll_s=0.1)
            async with at_work(worker):
                await seen(queue, await queue.enqueue("nothing"), "done")
                await client.config_set("min-replicas-to-write", 1)

                async def refused() -> bool:
                    return "NOREPLICAS" in str([vars(record) for record in caplog.records])

                await until(refused)
                await client.config_set("min-replicas-to-write", 0)
                await seen(queue, await queue.enqueue("nothing"), "done")


async def test_a_call_that_is_cancelled_leaves_a_client_that_answers_rightly(
    queue: Queue, redis_server: Server
) -> None:
    """T61: the answer to the cancelled one is nobody else's."""
    async with proxy_to(redis_server.socket) as proxy, through(proxy) as client:
        mine = Queue(client, queue.name)
        ids = [await mine.enqueue("a", {"n": n}) for n in range(3)]
        for id_ in ids:
            proxy.hold()
            call = asyncio.create_task(mine.get(id_))
            await proxy.asked()
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            proxy.let_go()
            for n, other in enumerate(ids):
                job = await mine.get(other)
                assert job
                assert (job.id, job.payload) == (other, {"n": n})
        proxy.hold()
        enqueuing = asyncio.create_task(mine.enqueue("a", id="new"))
        await proxy.asked()
        enqueuing.cancel()
        await asyncio.gather(enqueuing, return_exceptions=True)
        proxy.let_go()
        assert await mine.enqueue("a", id="new") == "new"
    assert sorted((await places(queue))["ready"]) == sorted([*ids, "new"])


def test_no_clock_of_a_host_is_read() -> None:
    """T56: but for ids that sort by time, and for spans on a clock that cannot be set."""
    found: set[tuple[str, str]] = set()
    for path in Path(redisq.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                called = f"{node.value.id}.{node.attr}"
                if called.startswith(("time.", "datetime.", "date.")):
                    found.add((path.name, called))
    told = {("cron.py", "datetime.combine"), ("repeats.py", "datetime.fromtimestamp")}
    assert {one for one in found if one[1] != "time.monotonic"} == {
        ("new_job.py", "time.time_ns"),
        *told,
    }


LISTS = ("redis-queue-failures.md", "outbox-failures.md")
NUMBERS = {*range(1, 64)} - {8, 15, 24, 30, 36, 40, 47, 48, 59}
"""Of the cases; the others say what one of these says."""


@pytest.mark.parametrize("name", LISTS)
def test_every_test_that_the_list_names_is_there(name: str) -> None:
    """In the file that it names before it."""
    text = (ROOT / "docs" / name).read_text("utf-8")
    folders = ("tests/redisq", "tests/server", "tests/chaos", "tests/examples", "tests/hosts")
    for line in text.splitlines():
        file = ""
        for word in re.findall(r"`((?:test_)\w+(?:\.py)?)`", line):
            if word.endswith(".py"):
                places_ = [ROOT / folder / word for folder in folders]
                mine = [path for path in places_ if path.exists()]
                assert mine, f"{word} is not there: {line[:60]}"
                file = "\n".join(path.read_text("utf-8") for path in mine)
            else:
                assert f"def {word}(" in file, f"{word} is not there: {line[:60]}"


def test_the_list_has_every_case() -> None:
    """Each number once, in order."""
    text = (ROOT / "docs" / LISTS[0]).read_text("utf-8")
    rows = re.findall(r"^\| T(\d+) \|", text, re.MULTILINE)
    assert [int(row) for row in rows] == sorted(NUMBERS)
