"""What tests do to a queue by hand: a worker's scripts, the passing of time, a look at it all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from redis.asyncio import Redis

from server.redisq import Queue
from server.redisq.audit import audit
from server.redisq.model import STATES, Claim, Kind, Outcome, Turn
from server.redisq.scripts import Client, script
from server.redisq.stored import outcome_arguments, turn_from


class Beat(NamedTuple):
    """A heartbeat's answer: tokens."""

    lost: list[int]
    cancelled: list[int]


def ended(claim: Claim, kind: Kind = "done", delay_ms: int = 0, text: bytes = b"") -> Outcome:
    """How that claim's run ended."""
    return Outcome(claim.id, claim.token, kind, delay_ms, text)


class Hand:
    """A worker whose every script a test sends itself."""

    def __init__(self, queue: Queue, name: str = "w1") -> None:
        self.client: Redis = queue.client
        self.base = queue.base
        self.name = name
        self.seq = 0

    async def raw_turn(
        self,
        *outcomes: Outcome,
        want: int = 100,
        seq: int | str | None = None,
        lease_ms: int = 30_000,
        tasks: str = "*",
        unknown_ms: int = 600_000,
    ) -> Any:
        """Send a turn, the next one unless `seq` says otherwise, and return the bare answer.

        A `seq` such as "3w" is that of a turn that waited behind a wake-up.
        """
        if seq is None:
            self.seq += 1
            seq = self.seq
        known = tasks if tasks == "*" else f",{tasks},"
        values: list[Any] = [self.name, seq, want, lease_ms, known, unknown_ms]
        values += outcome_arguments(outcomes)
        return await script("turn").run(self.client, self.base, values)

    async def turn(self, *outcomes: Outcome, **how: Any) -> Turn:
        """Send a turn and return its answer."""
        return turn_from(await self.raw_turn(*outcomes, **how))

    async def claim(self, **how: Any) -> Claim:
        """Return the one job that a turn gets."""
        [claim] = (await self.turn(want=1, **how)).claims
        return claim

    async def beat(
        self,
        *held: Claim,
        seq: int | None = None,
        waited: int = 0,
        lease_ms: int = 30_000,
        tasks: Sequence[str] = (),
    ) -> Beat:
        """Say what is held."""
        values: list[Any] = [self.name, self.seq if seq is None else seq, waited, lease_ms, "{}"]
        values += (len(tasks), *tasks)
        for claim in held:
            values += (claim.id, claim.token)
        _, lost, cancelled = await script("heartbeat").run(self.client, self.base, values)
        return Beat(lost, cancelled)

    async def note(self, claim: Claim, what: str, given: Any, call: int = 1) -> int:
        """Note something about a running job."""
        values = [claim.id, claim.token, what, given, call]
        return int(await script("note").run(self.client, self.base, values))


TIMES = ("due_ms", "queued_ms", "claimed_ms", "unknown_since")


async def elapse(queue: Queue, ms: int) -> None:
    """Let that time pass for everything in the queue, by moving it into the past."""
    client, base = queue.client, queue.base
    pipe = client.pipeline(transaction=True)
    for state in STATES:
        for id_, score in await client.zrange(f"{base}:{state}", 0, -1, withscores=True):
            pipe.zadd(f"{base}:{state}", {id_: score - ms})
            key = f"{base}:job:{id_.decode()}"
            for field, at in zip(TIMES, await client.hmget(key, TIMES), strict=True):
                if at:
                    pipe.hset(key, field, f"{float(at) - ms:.17g}")
    for task, at in (await client.hgetall(f"{base}:known")).items():
        pipe.hset(f"{base}:known", task, f"{float(at) - ms:.17g}")
    fields = [(f"{base}:meta", "tat"), (f"{base}:meta", "repeats_ms")]
    for name, score in await client.zrange(f"{base}:repeats", 0, -1, withscores=True):
        pipe.zadd(f"{base}:repeats", {name: score - ms})
        key = f"{base}:repeat:{name.decode()}"
        fields += [(key, "asked_ms"), (key, "last_ms")]
    for key, field in fields:
        if at := await client.hget(key, field):
            pipe.hset(key, field, f"{float(at) - ms:.17g}")
    await pipe.execute()


async def dump(client: Client) -> dict[bytes, bytes]:
    """Return everything that the server has, to be compared."""
    return {key: await client.dump(key) for key in await client.keys()}


async def places(queue: Queue) -> dict[str, list[str]]:
    """Return the ids in each place that has any."""
    found = {state: await queue.ids(state, count=1000) for state in STATES}
    return {state: ids for state, ids in found.items() if ids}


async def assert_sound(queue: Queue) -> None:
    """Check what must hold at any moment: places, held sets, bytes kept, nothing left behind."""
    client, base = queue.client, queue.base
    assert await audit(client, base) == {}
    keys = [key.decode() for key in await client.keys()]
    jobs = await _hashes(client, f"{base}:job:", keys)
    held = f"{base}:held:"
    for key in keys:
        if key.startswith(held):
            for id_ in await client.smembers(key):
                job = jobs[id_.decode()]
                assert (job[b"state"], job[b"worker"].decode()) == (b"active", key[len(held) :])
        for part in ("log", "once"):
            if key.startswith(f"{base}:{part}:"):
                assert key[len(f"{base}:{part}:") :] in jobs
    sizes = [int(job[b"bytes"]) for job in jobs.values() if job[b"state"] == b"done"]
    assert int(await client.hget(f"{base}:meta", "done_bytes") or 0) == sum(sizes)


async def _hashes(client: Redis, prefix: str, keys: Sequence[str]) -> dict[str, dict[bytes, bytes]]:
    """Return the hashes of these keys that begin so, by what follows."""
    mine = [key for key in keys if key.startswith(prefix)]
    pipe = client.pipeline(transaction=False)
    for key in mine:
        pipe.hgetall(key)
    return {
        key[len(prefix) :]: fields for key, fields in zip(mine, await pipe.execute(), strict=True)
    }
