"""Measures what a job costs the Redis queue's server beside few and beside very many others.

    python -m bench.redisq_depth [--sizes 1000 1000000] [--rounds 5]

The others wait behind the measured ones, are scheduled, or are dead, each kind for itself and as
many as the size says; a script makes them. A measured job is enqueued, claimed and settled as
done, 25 at a time. The cost is the processor's time that the server used, so waiting for one does
not count. A million others take 1 GB; `--sizes 1000 100000` is quicker.

Bound (exit code 1): with most others, a job costs at most 1.5 times what it costs with fewest.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from server.embedded_valkey import embedded_valkey
from server.redis_server import redis_client
from server.redisq import NewJob, Queue
from server.redisq.model import Outcome
from server.redisq.scripts import script
from server.redisq.stored import outcome_arguments, turn_from

if TYPE_CHECKING:
    from collections.abc import Sequence

Place = Literal["ready", "scheduled", "dead"]
PLACES: tuple[Place, ...] = ("ready", "scheduled", "dead")
BATCH = 25
JOBS = 1000
BOUND = 1.5
STEP = 10_000
DAY_MS = 86_400_000
MAKE = """
local base, state, first, count, at = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
for n = first, first + count - 1 do
  local id = string.format('other-%s-%09d', state, n)
  redis.call('HSET', base .. ':job:' .. id, 'task', 'nothing', 'payload', '{"n":0}', 'size', 7,
    'state', state, 'priority', 0, 'max_attempts', 5, 'timeout_ms', 300000, 'keep_ms', '',
    'unique', '', 'attempts', 0, 'lost', 0, 'token', 0, 'queued_ms', at, 'due_ms', at)
  redis.call('ZADD', base .. ':' .. state, at + n / 1000, id)
end
"""


async def _make(queue: Queue, place: Place, size: int) -> None:
    """Puts so many others into a place, all of them later than what is measured."""
    at = round(time.time() * 1000) + DAY_MS
    for first in range(0, size, STEP):
        await queue.client.eval(MAKE, 1, queue.base, place, first, min(STEP, size - first), at)


async def _cost(queue: Queue) -> float:
    """Microseconds of the server for each of some jobs."""
    before = await _used_us(queue)
    seq = 0
    outcomes: list[Outcome] = []
    for _ in range(JOBS // BATCH):
        await queue.enqueue_many([NewJob(task="nothing", payload={"n": 0})] * BATCH)
        seq += 1
        outcomes = await _turn(queue, seq, BATCH, outcomes)
    await _turn(queue, seq + 1, 0, outcomes)
    after = await _used_us(queue)
    await queue.client.delete(f"{queue.base}:worker:measured")
    return (after - before) / JOBS


async def _used_us(queue: Queue) -> float:
    """Microseconds of a processor that the server's only working thread has used."""
    info: dict[str, float] = await queue.client.info("cpu")
    return 1e6 * (info["used_cpu_user_main_thread"] + info["used_cpu_sys_main_thread"])


async def _turn(queue: Queue, seq: int, want: int, outcomes: list[Outcome]) -> list[Outcome]:
    """One turn of a worker; returns the outcomes of what it claimed."""
    values = ["measured", seq, want, 30_000, "*", 600_000, *outcome_arguments(outcomes)]
    turn = turn_from(await script("turn").run(queue.client, queue.base, values))
    return [Outcome(claim.id, claim.token, "done") for claim in turn.claims]


async def main(url: str, sizes: Sequence[int], rounds: int) -> int:
    """Measures, prints, and returns the exit code."""
    broken = []
    async with redis_client(url, block_s=60) as client:
        await client.config_set("appendonly", "no")
        print(f"{'us of the server a job, beside':<32}" + "".join(f"{n:>12,}" for n in sizes))
        for place in PLACES:
            found = []
            for size in sizes:
                await client.flushall()
                queue = Queue(client, "depth", max_waiting=2 * size + JOBS)
                # Of these others none is too many, and the jobs measured are kept as few.
                await queue.configure({"keep_dead": 2 * size, "keep_done": JOBS})
                await _make(queue, place, size)
                costs = [await _cost(queue) for _ in range(rounds + 1)]
                found.append(statistics.median(costs[1:]))
            ratio = found[-1] / found[0]
            print(f"{place:<32}" + "".join(f"{cost:>12.1f}" for cost in found)
                  + f"   x{ratio:.2f} (at most {BOUND:g})", flush=True)  # fmt: skip
            if ratio > BOUND:
                broken.append(f"{place}: {ratio:.2f} times as dear")
    for bound in broken:
        print(f"BROKEN: {bound}")
    return 1 if broken else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, embedded_valkey(Path(folder)) as lent:
        sys.exit(asyncio.run(main(lent, asked.sizes, asked.rounds)))
