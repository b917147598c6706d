"""What is done to workers and servers while they work. Each function is one of plan.KINDS."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from functools import partial

from tests.redisq.chaos import journal
from tests.redisq.chaos.record import Window
from tests.redisq.chaos.stage import MARK, PATIENCE_S, Stage
from tests.redisq.chaos.worker import LEASE_S

TRAFFIC_S = 0.3
"""For a few jobs to come and go meanwhile."""

AGAIN_S = 15.0
"""For a job to be begun again whose worker stands still."""

TRIES = 5


async def kill(stage: Stage) -> None:
    """A worker vanishes, and another one comes."""
    await _replace(stage, stage.luck.randrange(stage.plan.workers))


async def kill_busy(stage: Stage) -> None:
    """A worker vanishes that has begun a job and not settled it."""
    await _kill_with(stage, 1)


async def kill_failed(stage: Stage) -> None:
    """A worker vanishes that has failed a job, and has begun the next one."""
    await _kill_with(stage, 2)


async def _kill_with(stage: Stage, runs: int) -> None:
    """Kill a worker with at least so many runs that are not settled."""
    found: list[int] = []

    def there_is_one() -> bool:
        busy = {pid for pid, begun in journal.busy(stage.journal).items() if len(begun) >= runs}
        found[:] = [n for n, process in enumerate(stage.processes) if process.pid in busy]
        return bool(found)

    await stage.until(there_is_one)
    await _replace(stage, stage.luck.choice(found))


async def _replace(stage: Stage, number: int) -> None:
    stage.processes[number].kill()
    await stage.processes[number].wait()
    stage.processes[number] = await stage.start(number)


async def freeze(stage: Stage) -> None:
    """A worker stands still until another one may have its jobs."""
    process = stage.luck.choice(stage.processes)
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGSTOP)
        await asyncio.sleep(LEASE_S * stage.luck.uniform(2.6, 3.6))
        process.send_signal(signal.SIGCONT)


async def freeze_busy(stage: Stage) -> None:
    """A worker stands still in the middle of a job until another one has begun it, and goes on."""
    for _ in range(TRIES):
        await stage.until(lambda: journal.busy(stage.journal))
        pid, runs = next(iter(journal.busy(stage.journal).items()))
        os.kill(pid, signal.SIGSTOP)
        try:
            async with asyncio.timeout(AGAIN_S):
                while not (overtaken := _overtaken(stage, runs)):  # noqa: ASYNC110 - nobody tells
                    await asyncio.sleep(0.02)
        except TimeoutError:
            # It had just settled them all.
            continue
        finally:
            os.kill(pid, signal.SIGCONT)
        await stage.until(partial(_settled, stage, overtaken))
        return
    raise TimeoutError("no job was begun again")


def _settled(stage: Stage, run: tuple[str, int]) -> bool:
    return any(
        note["what"] == "verdict" and (note["id"], note["token"]) == run for note in stage.notes()
    )


def _overtaken(stage: Stage, runs: set[tuple[str, int]]) -> tuple[str, int] | None:
    """Return one of these runs whose job has been begun again since."""
    for note in stage.notes():
        for id_, token in runs:
            if note["what"] == "run" and note["id"] == id_ and note["token"] > token:
                return id_, token
    return None


async def lose_reply(stage: Stage) -> None:
    """The next answers to a worker or the producer are lost after the server has acted."""
    stage.luck.choice(stage.proxies).lose = stage.luck.randint(1, 3)


async def lose_claims(stage: Stage) -> None:
    """The answers that hand out jobs to a worker are lost, a few times in a row."""
    proxy = stage.luck.choice(stage.proxies[:-1])
    before, proxy.lose_with = proxy.lost, b"job-"
    await stage.until(lambda: proxy.lost >= before + 3)
    proxy.lose_with = None


async def half_open(stage: Stage) -> None:
    """Connections of a worker or the producer fall silent."""
    proxy = stage.luck.choice(stage.proxies)
    proxy.fall_silent()
    await asyncio.sleep(LEASE_S * stage.luck.uniform(0.3, 1.5))
    proxy.hear_again()


async def slow_down(stage: Stage) -> None:
    """The network of a worker or the producer takes its time."""
    proxy = stage.luck.choice(stage.proxies)
    proxy.delay_s = 0.05
    await asyncio.sleep(TRAFFIC_S)
    proxy.delay_s = 0.0


async def restart(stage: Stage) -> None:
    """The server ends in order and comes back."""
    await asyncio.to_thread(stage.leader.stop)
    await asyncio.to_thread(stage.leader.start)


async def kill_server_everysec(stage: Stage) -> None:
    """The server is killed while it writes to the disk once a second, and comes back.

    What it has not handed to the system by then it has forgotten, though it was acknowledged.
    """
    begin = time.time()
    await _written(stage, "WAITAOF", 1, 0)
    await asyncio.sleep(TRAFFIC_S)
    await _kill_server(stage)
    stage.seen.windows.append(Window("fsync", begin, time.time()))
    await asyncio.to_thread(stage.leader.start)


async def kill_server_always(stage: Stage) -> None:
    """The server is killed while it acknowledges nothing that is not on the disk."""
    async with stage.client() as client:
        await client.config_set("appendfsync", "always")
    # What this write's answer finds on the disk, all that was before it has too.
    await stage.mark()
    await asyncio.sleep(TRAFFIC_S)
    await _kill_server(stage)
    # It comes back with `everysec`, as its command line says.
    await asyncio.to_thread(stage.leader.start)


async def _kill_server(stage: Stage) -> None:
    await asyncio.to_thread(stage.leader.kill)


async def flush_scripts(stage: Stage) -> None:
    """The server forgets all scripts."""
    async with stage.client() as client:
        await client.script_flush()


async def fill_memory(stage: Stage) -> None:
    """The server has no memory left, until the producer has been refused and a while has passed."""
    refused = stage.seen.refused
    async with stage.client() as client:
        await client.config_set("maxmemory", "1mb")
        await stage.until(lambda: stage.seen.refused > refused)
        await asyncio.sleep(TRAFFIC_S)
        await client.config_set("maxmemory", "0")


async def promote(stage: Stage) -> None:
    """The server is cut off from its replica, goes on for a while and dies; the replica takes over.

    What was confirmed by the replica is there then; what was acknowledged by the dead one alone,
    after the cut, is not.
    """
    replica, seen = stage.replica, stage.seen
    if replica is None:
        raise RuntimeError("there is no replica")
    begin = time.time()
    await _written(stage, "WAIT", 1)
    stage.feed.fall_silent()
    cut, unconfirmed = time.time(), seen.unconfirmed
    await stage.until(lambda: seen.unconfirmed > unconfirmed and seen.unsafe_sent > cut)
    await _kill_server(stage)
    seen.windows.append(Window("failover", begin, time.time()))
    async with stage.client(replica) as client:
        await client.replicaof("NO", "ONE")
    stage.leader = replica
    for proxy in stage.proxies:
        proxy.turn_to(replica.socket)
    stage.feed.turn_to(replica.socket)
    await stage.add_replica()


async def _written(stage: Stage, command: str, *wanted: int) -> None:
    """Return once all that was acknowledged before is on the disk, or with the replica."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        async with stage.client() as client, client.pipeline(transaction=False) as pipe:
            # Both speak of what their own connection wrote.
            pipe.incr(MARK)
            pipe.execute_command(command, *wanted, 1000)
            _, got = await pipe.execute()
        if (got[0] if isinstance(got, list) else got) >= 1:
            return
    raise TimeoutError(f"{command} is not answered")
