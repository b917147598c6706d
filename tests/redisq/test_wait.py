"""Turns that wait behind a wake-up: one trip less, and nothing is stranded."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any, ClassVar

import pytest
from redis.asyncio import ConnectionPool, Redis, UnixDomainSocketConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from server.redisq import NewJob, Queue, QueueError, RunningJob, Tasks, Worker, WorkerOptions
from tests.redisq.chaos.proxy import Proxy
from tests.redisq.conftest import client_of
from tests.redisq.hand import Hand, dump, ended, places
from tests.redisq.servers import Server
from tests.redisq.work import PATIENCE_S, all_done, at_work, seen, until

QUIET = WorkerOptions(poll_s=3600, lease_s=3600, grace_s=PATIENCE_S)
"""Nothing but a wake-up lets such a worker look."""


class Noting(UnixDomainSocketConnection):
    """A connection that notes what is written to it, each write by itself."""

    written: ClassVar[list[bytes]] = []

    async def send_packed_command(self, command: Any, check_health: bool = True) -> None:  # noqa: FBT001, FBT002 - redis-py's
        """Note it, and send it."""
        self.written.append(command if isinstance(command, bytes) else b"".join(command))
        await super().send_packed_command(command, check_health)


def noting(made: Server) -> Redis:
    """Return a client whose writes are noted."""
    pool = ConnectionPool(connection_class=Noting, path=made.socket, socket_timeout=None)
    return Redis.from_pool(pool)


async def waits(queue: Queue) -> None:
    """Return once a worker waits."""

    async def there() -> bool:
        return int((await queue.client.info("clients"))["blocked_clients"]) > 0

    await until(there)


async def test_between_a_job_and_its_handler_nothing_is_sent(
    queue: Queue, redis_server: Server
) -> None:
    """The turn that gets the job is with the server already, sent in one write with the wait."""
    tasks = Tasks()
    started: list[asyncio.Future[list[bytes]]] = []
    go_on = asyncio.Event()

    @tasks.task("job")
    async def job(_: RunningJob) -> None:
        started[-1].set_result(Noting.written.copy())
        await go_on.wait()

    Noting.written.clear()
    clients = noting(redis_server), noting(redis_server)
    async with at_work(Worker(*clients, queue.base, tasks, options=QUIET)):
        for count in range(1, 4):
            await waits(queue)
            before = len(Noting.written)
            started.append(asyncio.get_running_loop().create_future())
            await queue.enqueue("job")
            written = await asyncio.wait_for(started[-1], PATIENCE_S)
            # But for a heartbeat, which comes whenever it is time for it.
            assert [write for write in written[before:] if b'"host"' not in write] == []
            waits_ = [write for write in written if b"BLPOP" in write]
            assert waits_
            assert all(b"EVALSHA" in write for write in waits_)
            go_on.set()
            await all_done(queue, count)
            go_on.clear()


async def test_one_that_is_busy_picks_up_more(queue: Queue, redis_server: Server) -> None:
    """While one hand works, the other ones are offered; a burst is taken with all of them."""
    tasks = Tasks()
    go_on = asyncio.Event()

    @tasks.task("long")
    async def long(_: RunningJob) -> None:
        await go_on.wait()

    client, waiting = client_of(redis_server), client_of(redis_server, socket_timeout=None)
    async with at_work(Worker(client, waiting, queue.base, tasks, options=QUIET)):
        for count in (1, 2, 10, 16):
            now = len((await places(queue)).get("active", []))
            await queue.enqueue_many([NewJob(task="long") for _ in range(count - now)])

            async def runs(count: int = count) -> bool:
                return len((await places(queue)).get("active", [])) == count

            await until(runs)
        more = await queue.enqueue("long")
        assert (await places(queue))["ready"] == [more]
        go_on.set()
        await all_done(queue, 17)


@pytest.mark.parametrize("concurrency", [1, 2])
async def test_what_falls_due_is_not_kept_by_the_wait(
    queue: Queue, redis_server: Server, concurrency: int
) -> None:
    """Though the only free hand is promised to it."""
    tasks = Tasks()

    @tasks.task("job")
    async def job(_: RunningJob) -> None:
        pass

    client, waiting = client_of(redis_server), client_of(redis_server, socket_timeout=None)
    options = WorkerOptions(concurrency=concurrency, poll_s=3600, lease_s=3600)
    async with at_work(Worker(client, waiting, queue.base, tasks, options=options)):
        await waits(queue)
        await queue.enqueue_many([NewJob(task="job", delay_s=0.05) for _ in range(5)])
        await all_done(queue, 5)


async def test_an_answer_that_is_lost_is_asked_for_again(
    queue: Queue, redis_server: Server
) -> None:
    """What it had claimed runs at once, in the same claim: no lease is waited for."""
    tasks = Tasks()
    tokens: list[int] = []

    @tasks.task("job")
    async def job(job: RunningJob) -> None:
        tokens.append(job.token)

    with tempfile.TemporaryDirectory(prefix="rqp-") as folder:
        proxy = Proxy(Path(folder) / "p", redis_server.socket)
        waiting = Redis(
            unix_socket_path=str(proxy.listen),
            retry=Retry(NoBackoff(), 0),
            socket_timeout=None,
        )
        worker = Worker(client_of(redis_server), waiting, queue.base, tasks, options=QUIET)
        async with proxy.open(), at_work(worker):
            for count in range(1, 4):
                await waits(queue)
                proxy.lose = 1
                id_ = await queue.enqueue("job")
                found = await seen(queue, id_, "done")
                assert (found.lost, found.attempts, found.log) == (0, 0, [])
                assert (proxy.lost, tokens[count - 1 :]) == (count, [found.token])


async def test_a_script_that_is_forgotten_meanwhile_is_sent_again(
    queue: Queue, redis_server: Server
) -> None:
    """The turn behind the wait names it only."""
    tasks = Tasks()

    @tasks.task("job")
    async def job(_: RunningJob) -> None:
        pass

    client, waiting = client_of(redis_server), client_of(redis_server, socket_timeout=None)
    async with at_work(Worker(client, waiting, queue.base, tasks, options=QUIET)):
        for count in range(1, 4):
            await waits(queue)
            await queue.client.script_flush()
            await queue.enqueue("job")
            await all_done(queue, count)


async def test_waiting_turns_are_numbered_apart(queue: Queue, worker: Hand) -> None:
    """Each kind is answered again as before, whatever the other did meanwhile."""
    await queue.enqueue_many([NewJob(task="a", id=id_) for id_ in "xyz"])
    [first] = (await worker.turn(want=1)).claims
    [second] = (await worker.turn(want=1, seq="1w")).claims
    assert (first.id, second.id) == ("x", "y")
    await worker.turn(ended(first), want=0)
    before = await dump(queue.client)
    assert (await worker.turn(want=1, seq="1w")).claims == [second]
    assert await dump(queue.client) == before
    [third] = (await worker.turn(want=1, seq="2w")).claims
    assert third.id == "z"
    with pytest.raises(QueueError, match="another worker"):
        await worker.turn(want=1, seq="1w")
    assert (await worker.turn(want=0)).verdicts == []


async def test_a_heartbeat_returns_nothing_of_which_the_worker_has_yet_to_hear(
    queue: Queue, worker: Hand
) -> None:
    """Neither kind of turn; once it has heard of both, what it does not name waits again."""
    await queue.enqueue("a", id="x")
    await worker.turn(want=0)
    await worker.turn(want=1, seq="1w")
    await worker.beat(waited=0)
    assert await places(queue) == {"active": ["x"]}
    await worker.beat(waited=1, seq=0)
    assert await places(queue) == {"active": ["x"]}
    await worker.beat(waited=1)
    assert await places(queue) == {"ready": ["x"]}
