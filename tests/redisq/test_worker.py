"""A worker's turns, beats and end, in the test's own process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as ServerAwayError
from redis.exceptions import ResponseError

from server.redisq import FromThread, NewJob, Queue, RunningJob, Tasks, Worker
from server.redisq.new_job import arguments
from server.redisq.scripts import script
from tests.redisq.conftest import client_of
from tests.redisq.hand import assert_sound, places
from tests.redisq.servers import Server, server
from tests.redisq.work import PATIENCE_S, all_done, at_work, make_worker, seen, until


@pytest.fixture
def tasks() -> Tasks:
    """One task that does nothing."""
    made = Tasks()

    @made.task("nothing")
    async def nothing(_: RunningJob) -> None:
        pass

    return made


def turns_of(worker: Worker) -> int:
    """How many turns the worker has sent."""
    return worker.turns.taken + worker.turns.waited


async def idle(queue: Queue) -> None:
    """Return once a worker waits in its blocking pop."""

    async def there() -> bool:
        return int((await queue.client.info("clients"))["blocked_clients"]) > 0

    await until(there)


async def test_what_runs_is_finished_within_the_grace(
    queue: Queue, redis_server: Server, tasks: Tasks
) -> None:
    """And nothing more is begun."""
    started, go_on = asyncio.Event(), asyncio.Event()

    @tasks.task("long")
    async def long(_: RunningJob) -> str:
        started.set()
        await go_on.wait()
        return "finished"

    first = await queue.enqueue("long")
    worker = make_worker(redis_server, queue, tasks)
    async with at_work(worker):
        await started.wait()
        worker.stop()
        second = await queue.enqueue("nothing")
        go_on.set()
        assert (await seen(queue, first, "done")).result == "finished"
    assert (await places(queue)) == {"ready": [second], "done": [first]}


async def test_what_does_not_end_in_time_is_given_back(
    queue: Queue, redis_server: Server, tasks: Tasks
) -> None:
    """After its handler has cleaned up, without an attempt burnt."""
    started = asyncio.Event()
    states: list[str] = []

    @tasks.task("long")
    async def long(job: RunningJob) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            await job.progress(0.5)
            found = await queue.get(job.id)
            states.append(found.state if found else "")

    id_ = await queue.enqueue("long")
    async with at_work(make_worker(redis_server, queue, tasks, grace_s=0)):
        await started.wait()
    job = await queue.get(id_)
    assert job
    assert states == ["active"]
    assert (job.state, job.attempts, job.lost) == ("ready", 0, 0)
    assert [entry[1] for entry in job.log] == ["released"]


async def test_a_second_stop_gives_back_at_once(
    queue: Queue, redis_server: Server, tasks: Tasks
) -> None:
    """Threads too, which go on by themselves until they end."""
    started, go_on = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    @tasks.task("thread")
    def thread(_: FromThread) -> None:
        loop.call_soon_threadsafe(started.set)
        asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result()

    id_ = await queue.enqueue("thread")
    worker = make_worker(redis_server, queue, tasks, grace_s=3600)
    async with at_work(worker) as running:
        await started.wait()
        worker.stop()
        worker.stop()
        await asyncio.wait_for(running, PATIENCE_S)
        job = await queue.get(id_)
        assert job
        assert (job.state, job.attempts) == ("ready", 0)
    go_on.set()


async def test_a_lost_wake_up_costs_a_poll_and_no_more(
    queue: Queue, redis_server: Server, tasks: Tasks
) -> None:
    """The next turn finds the job without being told."""
    async with at_work(make_worker(redis_server, queue, tasks, poll_s=0.2)):
        await idle(queue)
        values = [1000, 1, *arguments(NewJob(task="nothing"), queue.codec)]
        async with queue.client.pipeline(transaction=True) as pipe:
            pipe.eval(script("enqueue").text, 1, queue.base, *values)
            pipe.delete(f"{queue.base}:wake")
            await pipe.execute()
        await all_done(queue, 1)


async def test_a_wake_up_is_enough(queue: Queue, redis_server: Server, tasks: Tasks) -> None:
    """No poll is waited for: this one would come in an hour."""
    waiting = Redis(unix_socket_path=redis_server.socket, socket_timeout=None)
    worker = make_worker(redis_server, queue, tasks, poll_s=3600)
    worker.turns._line._client = waiting  # noqa: SLF001 - with a time-out longer than the poll
    async with at_work(worker):
        for count in range(1, 4):
            await idle(queue)
            await queue.enqueue("nothing")
            await all_done(queue, count)
        later = await queue.enqueue("nothing", delay_s=0.05)
        await seen(queue, later, "done")


async def test_connections_that_are_cut_are_made_again(
    queue: Queue, redis_server: Server, tasks: Tasks
) -> None:
    """That which waits, and that which speaks."""
    async with at_work(make_worker(redis_server, queue, tasks)):
        for count in range(1, 6):
            await queue.client.client_kill_filter(_type="normal", skipme=True)
            await queue.enqueue("nothing")
            await all_done(queue, count)


@pytest.mark.parametrize("broken", ["workers", "ready", "wake"])
async def test_a_worker_that_cannot_go_on_ends_with_the_reason(
    client: Redis, redis_server: Server, tasks: Tasks, broken: str
) -> None:
    """Heartbeat, turn or wait: it does not stay as if it worked."""
    queue = Queue(client, "broken")
    await client.set(f"{queue.base}:{broken}", "not what it should be")
    worker = make_worker(redis_server, queue, tasks)
    with pytest.raises(ResponseError, match="WRONGTYPE"):
        async with at_work(worker) as running:
            await asyncio.wait_for(running, PATIENCE_S)


async def counts(queue: Queue) -> dict[str, int]:
    """Return how often each command has been called, those within scripts included."""
    stats = await queue.client.info("commandstats")
    return {name.removeprefix("cmdstat_"): int(stat["calls"]) for name, stat in stats.items()}


async def test_an_idle_worker_says_little(queue: Queue, redis_server: Server, tasks: Tasks) -> None:
    """A turn, a wait and now and then a beat for each poll, and no more polls than were said."""
    worker = make_worker(redis_server, queue, tasks, poll_s=0.1)
    async with at_work(worker):
        await idle(queue)
        await queue.client.config_resetstat()
        began, first = time.monotonic(), turns_of(worker)

        async def ten_turns() -> bool:
            return turns_of(worker) >= first + 10

        await until(ten_turns)
        called, turns = await counts(queue), turns_of(worker) - first
        polls = (time.monotonic() - began) / 0.1
    assert turns <= polls + 2
    assert called["evalsha"] <= turns + 2
    assert called["blpop"] <= polls + 2
    assert sum(called.values()) <= 25 * turns + 40


@pytest.mark.parametrize("limit", ["concurrency", "rate", "pause", "unknown"])
async def test_workers_that_may_not_claim_do_not_stir_each_other(
    queue: Queue, redis_server: Server, tasks: Tasks, limit: str
) -> None:
    """Though jobs wait and hands are free."""
    started = asyncio.Event()

    @tasks.task("long")
    async def long(_: RunningJob) -> None:
        started.set()
        await asyncio.Event().wait()

    if limit == "concurrency":
        await queue.configure({"concurrency": 1})
    elif limit == "rate":
        await queue.configure({"rate_count": 1, "rate_ms": 3_600_000})
    await queue.enqueue("long")
    one = make_worker(redis_server, queue, tasks, poll_s=0.1, grace_s=0)
    two = make_worker(redis_server, queue, tasks, poll_s=0.1, grace_s=0)
    async with at_work(one), at_work(two):
        await started.wait()
        if limit == "pause":
            await queue.pause()
        waiting = "unknown" if limit == "unknown" else "nothing"
        await queue.enqueue_many([NewJob(task=waiting) for _ in range(5)])
        began, first = time.monotonic(), turns_of(one) + turns_of(two)

        async def twelve_turns() -> bool:
            return turns_of(one) + turns_of(two) >= first + 12

        await until(twelve_turns)
        polls = (time.monotonic() - began) / 0.1
        assert turns_of(one) + turns_of(two) - first <= 2 * polls + 10


async def finished(worker: Worker, jobs: int) -> bool:
    """Whether the worker knows that so many are done."""
    return worker.counts["done"] == jobs


PER_JOB = {1: (1.1, 24.5), 32: (0.06, 6.5)}
"""By concurrency: scripts sent, and commands that the server executes, for each job."""


@pytest.mark.parametrize("concurrency", list(PER_JOB))
async def test_a_job_costs_so_many_round_trips_and_commands(
    queue: Queue, redis_server: Server, tasks: Tasks, concurrency: int
) -> None:
    """Counted, so that no load changes it."""
    jobs = 320
    await queue.enqueue_many([NewJob(task="nothing") for _ in range(jobs)])
    await queue.client.config_resetstat()
    worker = make_worker(redis_server, queue, tasks, concurrency=concurrency)
    async with at_work(worker):
        # Nothing is asked of the server meanwhile, since that would count.
        await until(lambda: finished(worker, jobs))
        called = await counts(queue)
    trips, commands = PER_JOB[concurrency]
    sent = called.get("evalsha", 0) + called.get("eval", 0)
    assert sent / jobs <= trips
    assert sum(called.values()) / jobs <= commands


async def restart(made: Server, worker: Worker) -> None:
    """Kill the server while a job runs, and start it again."""
    made.kill()

    async def noticed() -> bool:
        # A turn is being tried.
        return worker.turns.taken_answered < worker.turns.taken

    # As when something falls due.
    worker._due = 0  # noqa: SLF001
    worker.hands.stir.set()
    await until(noticed)
    made.start()


async def test_a_server_that_restarts_is_waited_for(engine: str, tasks: Tasks) -> None:
    """What ran goes on meanwhile, and its outcome is settled then; nothing is lost or run twice."""
    started, go_on = asyncio.Event(), asyncio.Event()
    runs: list[str] = []

    @tasks.task("long")
    async def long(job: RunningJob) -> str:
        runs.append(job.id)
        started.set()
        await go_on.wait()
        return "finished"

    with server(engine, "--appendonly", "yes", "--appendfsync", "always") as made:
        async with client_of(made) as client:
            queue = Queue(client, "mail")
            first = await queue.enqueue("long")
            second = await queue.enqueue("nothing", delay_s=0.1)
            worker = make_worker(made, queue, tasks)
            async with at_work(worker):
                await started.wait()
                await restart(made, worker)
                go_on.set()
                assert (await seen(queue, first, "done")).result == "finished"
                await seen(queue, second, "done")
                third = await queue.enqueue("nothing")
                await seen(queue, third, "done")
            assert runs == [first]
            await assert_sound(queue)


async def test_a_server_that_only_reads_is_waited_for(
    engine: str, tasks: Tasks, caplog: pytest.LogCaptureFixture
) -> None:
    """As one is that was the leader and comes back as a replica, until it is the leader again."""
    with server(engine) as made:
        async with client_of(made) as client:
            queue = Queue(client, "mail")
            worker = make_worker(made, queue, tasks, poll_s=0.1)
            async with at_work(worker):
                await seen(queue, await queue.enqueue("nothing"), "done")
                await client.replicaof("127.0.0.1", "1")

                async def refused() -> bool:
                    return any(
                        getattr(record, "action", "") == "queue-away" for record in caplog.records
                    )

                await until(refused)
                await client.replicaof("NO", "ONE")
                await seen(queue, await queue.enqueue("nothing"), "done")
            await assert_sound(queue)


async def test_a_server_that_is_away_at_first_is_waited_for(engine: str, tasks: Tasks) -> None:
    """The worker may be started before it."""
    with server(engine, start=False) as made:
        async with client_of(made) as client:
            queue = Queue(client, "mail")
            worker = make_worker(made, queue, tasks)
            async with at_work(worker):

                async def tried() -> bool:
                    return worker.turns.taken == 1

                await until(tried)
                made.start()
                id_ = await queue.enqueue("nothing")
                await seen(queue, id_, "done")


async def stop_once(worker: Worker) -> None:
    """Ask it to stop; its grace is short."""
    worker.stop()


async def stop_twice(worker: Worker) -> None:
    """Ask it to stop now."""
    worker.stop()
    await asyncio.sleep(0)
    worker.stop()


@pytest.mark.parametrize("stop", [stop_once, stop_twice], ids=lambda stop: stop.__name__)
async def test_a_worker_ends_though_the_server_is_away(
    engine: str, tasks: Tasks, stop: Callable[[Worker], Awaitable[None]]
) -> None:
    """After the grace period, or at once the second time; what it held is left to its lease."""
    with server(engine, start=False) as made:
        async with client_of(made) as client:
            grace = 0.05 if stop is stop_once else 3600
            worker = make_worker(made, Queue(client, "mail"), tasks, grace_s=grace)
            worker._client.set_retry(Retry(NoBackoff(), 0))  # noqa: SLF001 - it waits by itself
            running = asyncio.create_task(worker.run())

            async def tried() -> bool:
                return worker.turns.taken == 1

            await until(tried)
            await stop(worker)
            with pytest.raises(ServerAwayError):
                await asyncio.wait_for(running, PATIENCE_S)
