"""What a look at a queue costs does not depend on how much is in it: commands are counted."""

import os

import httpx
import pytest
from redis.asyncio import Redis

from server.app import create_app
from server.redisq import Queue
from tests.redisq.servers import server as valkey_server
from tests.server.conftest import listening
from tests.server.queue_pages import ADMIN, settings_with

FULL = os.environ.get("WORKERS_TEST_FULL") == "1"
AT_ONCE = 25_000
SIZES = (1000, 1_000_000 if FULL else 50_000)
BASE = "/queues/redis/default"
LOOKS = (
    "/queues",
    BASE,
    f"{BASE}/stuck",
    *(f"{BASE}/jobs/{state}" for state in ("ready", "scheduled", "active", "done", "dead")),
    f"{BASE}/jobs/dead?task=mail&reason=refused",
    f"{BASE}/job/dead-17",
    "/api/queues",
    "/api/queues/default",
    "/api/queues/default/stuck",
    "/api/queues/default/jobs?state=dead&task=rare",
    "/api/queues/default/jobs/dead-17",
    "/api/metrics",
)
STEPS = (f"{BASE}/jobs/dead/retry", f"{BASE}/jobs/done/delete", f"{BASE}/do/bring-back")
UNBOUNDED = {"keys", "scan", "zscan", "hscan", "sscan", "smembers", "sort", "dbsize"}
OF_THE_CONNECTION = {"hello", "client", "ping", "info", "config", "select"}

SOW = """
local base, from, to, now = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
redis.call('HSET', base .. ':meta', 'keep_done', 1e9, 'keep_dead', 1e9, 'done_bytes', to)
for state, share in pairs({ ready = 10, scheduled = 10, active = 10, done = 10, dead = 60 }) do
  for n = from * share / 100 + 1, to * share / 100 do
    local id = state .. '-' .. n
    local at = state == 'ready' and now - n or now + 1000000 + n
    redis.call('ZADD', base .. ':' .. state, at, id)
    redis.call('HSET', base .. ':job:' .. id, 'state', state, 'task', 'mail', 'payload', '{}',
      'priority', 0, 'attempts', 1, 'max_attempts', 5, 'lost', 0, 'token', n, 'queued_ms', now,
      'due_ms', at, 'unique', '', 'bytes', 2, 'keep_ms', '', 'worker', 'w1', 'size', 2,
      'timeout_ms', 1000, 'claimed_ms', now, 'ended_ms', now, 'reason', 'refused', 'error', 'no')
  end
end
"""
"""Jobs from one number to another, some in each state, as the queue's scripts leave them."""


async def _counted(client: httpx.AsyncClient, redis: Redis) -> dict[str, dict[str, int]]:
    """Commands that the server ran for each request, by request."""
    found: dict[str, dict[str, int]] = {}
    for path in (*LOOKS, *STEPS):
        await redis.config_resetstat()
        if path in STEPS:
            answer = await client.post(path, headers=ADMIN)
            assert answer.status_code == 303, path
        else:
            answer = await client.get(path, headers=ADMIN)
            assert answer.status_code == 200, path
        stats = await redis.info("commandstats")
        found[path] = {
            name: stat["calls"]
            for full, stat in stats.items()
            if (name := full.removeprefix("cmdstat_").partition("|")[0]) not in OF_THE_CONNECTION
        }
    return found


@pytest.mark.timeout(900 if FULL else 300)
async def test_a_look_costs_a_page_and_not_the_queue(settings, database, tmp_path):
    """The same commands with a thousand jobs and with fifty times as many; none looks at keys."""
    costs = []
    with valkey_server("valkey") as valkey:
        app = create_app(settings_with(settings, valkey, tmp_path), database)
        async with listening(app) as client, Redis(unix_socket_path=valkey.socket) as redis:
            queue = Queue(redis, "default")
            # The first round is for the server to get to know every script.
            for size in (SIZES[0], *SIZES):
                await redis.flushall()
                seconds, _ = await redis.time()
                for start in range(0, size, AT_ONCE):
                    end = min(size, start + AT_ONCE)
                    await redis.eval(SOW, 1, queue.base, start, end, seconds * 1000)
                costs.append(await _counted(client, redis))
    _, few, many = costs
    for path, commands in many.items():
        assert commands == few[path], path
        assert not UNBOUNDED & set(commands), path
        assert sum(commands.values()) < (2500 if path in STEPS or "task=" in path else 150), path
