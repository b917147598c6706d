"""The floor: a claim and a settle on bare keys, and nothing around them. Not a queue to be used.

`python -m bench.redisq_peers.floor JSON`. Beside protocol.py's fields it takes `form`:

- "script": a hash a job with its payload and the number of its run, a list of ids, a sorted set
  of leases. One script settles a batch, each job only under the number of its run, and claims the
  next.
- "pipeline": payloads in a list. A batch of LMOVE in one pipeline, then a batch of LREM in another.
"""

from __future__ import annotations

import asyncio
from typing import Any

from redis.asyncio import Redis

from bench.outbox_peers.protocol import CLOCK, Seen, ended, given, say, single, started, trickle

STEP = 1000
TURN = """
local want, now, lease = tonumber(ARGV[1]), tonumber(ARGV[2]), 300
for at = 3, #ARGV, 2 do
  local key = 'bare:job:' .. ARGV[at]
  if redis.call('HGET', key, 'run') == ARGV[at + 1] then
    redis.call('DEL', key)
    redis.call('ZREM', 'bare:held', ARGV[at])
  end
end
local jobs = {}
for i, id in ipairs(redis.call('RPOP', 'bare:waiting', want) or {}) do
  local key = 'bare:job:' .. id
  local run = redis.call('HINCRBY', key, 'run', 1)
  redis.call('ZADD', 'bare:held', now + lease, id)
  jobs[i] = { id, run, redis.call('HGET', key, 'payload') }
end
return jobs
"""


async def _by_script(client: Redis, seen: Seen, batch: int) -> None:
    turn = client.register_script(TURN)
    held: list[Any] = []
    while True:
        held = await turn(args=[batch, CLOCK(), *held])
        if not held:
            await client.blpop(["bare:wake"], timeout=1)
            continue
        for _, _, payload in held:
            seen.note(int(payload))
        held = [part for id_, run, _ in held for part in (id_, run)]


async def _by_pipeline(client: Redis, seen: Seen, batch: int) -> None:
    while True:
        async with client.pipeline(transaction=False) as pipe:
            for _ in range(batch):
                pipe.lmove("bare:waiting", "bare:held", "RIGHT", "LEFT")
            held = [payload for payload in await pipe.execute() if payload is not None]
        if not held:
            await client.blpop(["bare:wake"], timeout=1)
            continue
        async with client.pipeline(transaction=False) as pipe:
            for payload in held:
                seen.note(int(payload))
                pipe.lrem("bare:held", 1, payload)
            await pipe.execute()


async def _add(client: Redis, form: str, numbers: range) -> None:
    async with client.pipeline(transaction=False) as pipe:
        if form == "script":
            for number in numbers:
                pipe.hset(f"bare:job:{number}", "payload", str(number))
        pipe.lpush("bare:waiting", *numbers)
        pipe.lpush("bare:wake", 1)
        await pipe.execute()


async def main() -> None:
    """Does the act that was asked for."""
    wanted = given()
    act, count, form = wanted["act"], wanted.get("count", 0), wanted["form"]
    async with Redis.from_url(wanted["conninfo"], socket_timeout=10) as client:
        if act == "work":
            seen = Seen()
            work = _by_script if form == "script" else _by_pipeline
            await client.ping()
            await started()
            working = asyncio.create_task(work(client, seen, wanted["concurrency"]))
            await ended()
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
            say(seen=seen.jobs)
        elif act == "fill":
            began = CLOCK()
            for first in range(0, count, STEP):
                await _add(client, form, range(first, min(first + STEP, count)))
            say(seconds=CLOCK() - began)
        elif act == "single":
            await single(count, lambda n: _add(client, form, range(n, n + 1)))
        elif act == "trickle":
            await trickle(count, wanted["rate"], lambda n: _add(client, form, range(n, n + 1)))


if __name__ == "__main__":
    asyncio.run(main())
