"""The queue on a Valkey Cluster of three nodes."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from redis.asyncio import RedisCluster
from redis.exceptions import RedisError

from server.redisq import NewJob, Queue, RunningJob, Tasks, Worker, WorkerOptions, audit
from server.redisq.model import Claim
from tests.redisq.clusters import Cluster, Node, cluster
from tests.redisq.clusters import until as until_nodes
from tests.redisq.hand import Hand, ended, places
from tests.redisq.work import at_work, seen, until

NAMES = ("a", "b", "c", "d", "e", "f", "g", "h", "i")


@pytest.fixture(scope="module")
def nodes() -> Iterator[Cluster]:
    """The cluster, for all tests of this file."""
    with tempfile.TemporaryDirectory(prefix="rqc-") as name, cluster(Path(name)) as made:
        yield made


@pytest.fixture
async def client(nodes: Cluster) -> AsyncIterator[RedisCluster]:
    """A client of an empty cluster."""
    async with nodes.client() as made:
        await made.flushall()
        yield made


def name_at(nodes: Cluster, node: Node) -> str:
    """The name of a queue that lies on this node."""
    return next(name for name in NAMES if nodes.owner(f"{{{name}}}") is node)


async def sound(queue: Queue) -> None:
    """Check that each job is in one place."""
    assert await audit(queue.client, queue.base) == {}


async def claimed(worker: Hand) -> Claim:
    """The next job, once there is one."""
    found: list[Claim] = []

    async def there() -> bool:
        found.extend((await worker.turn(want=1)).claims)
        return bool(found)

    await until(there)
    return found[0]


@pytest.mark.parametrize("number", [0, 1, 2])
async def test_a_queue_lies_on_one_node_whichever(
    nodes: Cluster, client: RedisCluster, number: int
) -> None:
    """There its jobs come, run, fail, come again and end, each once for its id and key."""
    queue = Queue(client, name_at(nodes, nodes.nodes[number]))
    worker = Hand(queue)
    jobs = [NewJob(task="a", id="x"), NewJob(task="a", unique="k"), NewJob(task="a", delay_s=0.05)]
    first, second, third = await queue.enqueue_many(jobs)
    assert await queue.enqueue_many(jobs[:2]) == [first, second]
    claims = [await claimed(worker), await claimed(worker)]
    assert [claim.id for claim in claims] == [first, second]
    assert await worker.beat(*claims) == ([], [])
    assert await worker.note(claims[0], "once", "effect") == 1
    turn = await worker.turn(
        ended(claims[0], text=b'"fine"'), ended(claims[1], "retry", 30), want=0
    )
    assert turn.verdicts == ["ok", "ok"]
    again = {claim.id: claim for claim in [await claimed(worker), await claimed(worker)]}
    assert again.keys() == {second, third}
    assert again[second].attempts == 1
    await worker.turn(ended(again[second], "dead"), ended(again[third]), want=0)
    assert await places(queue) == {"done": [first, third], "dead": [second]}
    job = await queue.get(first)
    assert job
    assert (job.state, job.result) == ("done", "fine")
    assert await queue.operate("retry", [second]) == {second: "ok"}
    depth = await queue.depth()
    assert (depth.ready, depth.done, depth.dead) == (1, 2, 0)
    others = [node for node in nodes.nodes[:3] if node is not nodes.nodes[number]]
    assert [node.command("KEYS", f"{queue.base}*") for node in others] == [[], []]
    await sound(queue)


async def test_limits_and_pauses_hold(client: RedisCluster) -> None:
    """As they do on one server."""
    queue = Queue(client, "mail")
    worker, other = Hand(queue), Hand(queue, "w2")
    await queue.enqueue_many([NewJob(task="a") for _ in range(4)])
    await queue.configure({"concurrency": 1})
    [held] = (await worker.turn()).claims
    assert (await other.turn()).claims == []
    await queue.pause()
    assert (await worker.turn(ended(held))).claims == []
    await queue.resume()
    await queue.configure({"concurrency": None, "rate_count": 2, "rate_ms": 3_600_000})
    assert len((await worker.turn()).claims) == 2
    assert (await other.turn()).claims == []
    await sound(queue)


async def test_what_a_vanished_worker_held_comes_back(client: RedisCluster) -> None:
    """The lease is all that counts."""
    queue = Queue(client, "mail")
    gone, worker = Hand(queue), Hand(queue, "w2")
    await queue.enqueue("a")
    claim = await gone.claim(lease_ms=20)
    again = await claimed(worker)
    assert (again.id, again.lost) == (claim.id, 1)
    assert (await gone.turn(ended(claim))).verdicts == ["late"]
    await sound(queue)


def worker_of(nodes: Cluster, queue: Queue, tasks: Tasks) -> Worker:
    """A worker with two clients of its own."""
    options = WorkerOptions(concurrency=4, poll_s=0.5, lease_s=30)
    return Worker(nodes.client(), nodes.client(), queue.base, tasks, options=options)


def counting(runs: list[str]) -> Tasks:
    """A task that notes which job runs."""
    tasks = Tasks()

    @tasks.task("count")
    async def count(job: RunningJob) -> None:
        runs.append(job.id)
        await asyncio.sleep(0.002)

    return tasks


async def test_a_worker_works_there(nodes: Cluster, client: RedisCluster) -> None:
    """It is woken, claims, settles, and ends."""
    queue, runs = Queue(client, "mail"), list[str]()
    async with at_work(worker_of(nodes, queue, counting(runs))):
        for _ in range(3):
            await seen(queue, await queue.enqueue("count"), "done")
        ids = await queue.enqueue_many([NewJob(task="count") for _ in range(30)])
        for id_ in ids:
            await seen(queue, id_, "done")
    assert len(runs) == len(set(runs)) == 33
    await sound(queue)


async def test_a_queue_moves_to_another_node_while_it_works(
    nodes: Cluster, client: RedisCluster
) -> None:
    """Where the server moves a slot in one piece, nobody notices, and nothing is lost."""
    queue, runs = Queue(client, "mail"), list[str]()
    source = nodes.owner(queue.base)
    target = next(node for node in nodes.nodes[1:3] if node is not source)
    slot = int(source.command("CLUSTER", "KEYSLOT", queue.base))
    ids: list[str] = []
    moved = asyncio.Event()

    async def produce() -> None:
        while not moved.is_set() or len(ids) < 50:
            ids.append(await queue.enqueue("count", id=f"j{len(ids)}"))

    async with at_work(worker_of(nodes, queue, counting(runs))):
        producing = asyncio.create_task(produce())
        await until_async(lambda: len(ids) > 5)
        move = ("SLOTSRANGE", slot, slot, "NODE", target.id())
        await asyncio.to_thread(source.command, "CLUSTER", "MIGRATESLOTS", *move)
        await asyncio.to_thread(until_nodes, lambda: nodes.owner(queue.base) is target)
        moved.set()
        await producing
        for id_ in ids:
            await seen(queue, id_, "done")
    assert sorted(runs) == sorted(ids)
    assert target.command("DBSIZE") > 0
    await sound(queue)


async def until_async(holds: object) -> None:
    """Return once that holds."""
    assert callable(holds)

    async def there() -> bool:
        return bool(holds())

    await until(there)


async def test_while_it_is_moved_key_by_key_it_stands_still(
    nodes: Cluster, client: RedisCluster
) -> None:
    """A script sees either all of the queue or does not run: nothing is torn in two."""
    queue = Queue(client, "mail")
    await queue.enqueue_many([NewJob(task="a", id=f"j{n}") for n in range(5)])
    worker = Hand(queue)
    claim = await worker.claim()
    source = nodes.owner(queue.base)
    target = next(node for node in nodes.nodes[1:3] if node is not source)
    slot = int(source.command("CLUSTER", "KEYSLOT", queue.base))
    target.command("CLUSTER", "SETSLOT", slot, "IMPORTING", source.id())
    source.command("CLUSTER", "SETSLOT", slot, "MIGRATING", target.id())
    keys = sorted(source.command("CLUSTER", "GETKEYSINSLOT", slot, 1000))
    for moved, part in ((0, keys[:1]), (1, keys[1:-1]), (2, keys[-1:])):
        before = source.command("DBSIZE"), target.command("DBSIZE")
        with pytest.raises(RedisError):
            await queue.enqueue("a", id=f"during-{moved}")
        if moved == 1:
            with pytest.raises(RedisError):
                await worker.turn(ended(claim), seq=2)
        assert (source.command("DBSIZE"), target.command("DBSIZE")) == before
        source.command("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *part)
    with pytest.raises(RedisError):
        await queue.enqueue("a", id="all-moved")
    for node in (target, source):
        node.command("CLUSTER", "SETSLOT", slot, "NODE", target.id())
    assert (await worker.turn(ended(claim), want=0, seq=2)).verdicts == ["ok"]
    assert await queue.enqueue("a", id="after") == "after"
    assert sorted(await queue.ids("ready")) == ["after", "j1", "j2", "j3", "j4"]
    await sound(queue)


async def test_a_replica_takes_over_with_what_it_confirmed(
    nodes: Cluster, client: RedisCluster
) -> None:
    """A worker that was at work goes on there. The last test here: node 0 is gone after it."""
    first, replica = nodes.nodes[0], nodes.nodes[3]
    queue, runs = Queue(client, name_at(nodes, first)), list[str]()
    jobs = [NewJob(task="count", id=f"j{n}", delay_s=0.1) for n in range(20)]
    async with at_work(worker_of(nodes, queue, counting(runs))):
        await seen(queue, await queue.enqueue("count"), "done")
        await queue.pause()
        assert len(await queue.enqueue_many(jobs, replicas=1, confirm_s=60)) == 20
        await asyncio.to_thread(first.kill)
        await asyncio.to_thread(replica.command, "CLUSTER", "FAILOVER", "TAKEOVER")
        await asyncio.to_thread(until_nodes, lambda: nodes.owner(queue.base) is replica)
        await queue.resume()
        for job in jobs:
            await seen(queue, str(job.id), "done")
    assert sorted(runs[1:]) == sorted(str(job.id) for job in jobs)
    await sound(queue)
