"""arq, keeping no results, looking for jobs each 10 ms: see bench/outbox_peers/protocol.py."""

from __future__ import annotations

import asyncio

import uvloop  # type: ignore[import-not-found, unused-ignore]
from arq import create_pool  # type: ignore[import-not-found, unused-ignore]
from arq.connections import RedisSettings  # type: ignore[import-not-found, unused-ignore]
from arq.worker import Worker, func  # type: ignore[import-not-found, unused-ignore]

from bench.outbox_peers.protocol import CLOCK, Seen, ended, given, say, single, started, trickle

STEP = 100
POLL_DELAY_S = 0.01
"""Instead of half a second, with which a worker of one hand does two jobs a second."""


async def _work(settings: RedisSettings, concurrency: int) -> None:
    seen = Seen()

    async def nothing(_context: object, number: int) -> None:
        seen.note(number)

    worker = Worker(
        functions=[func(nothing, name="nothing")],
        redis_settings=settings,
        max_jobs=concurrency,
        keep_result=0,
        poll_delay=POLL_DELAY_S,
        handle_signals=False,
    )
    await started()
    working = asyncio.create_task(worker.async_run())
    await ended()
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    say(seen=seen.jobs)


async def main() -> None:
    """Does the act that was asked for."""
    wanted = given()
    act, count = wanted["act"], wanted.get("count", 0)
    settings = RedisSettings.from_dsn(wanted["conninfo"])
    if act == "work":
        await _work(settings, wanted["concurrency"])
        return
    pool = await create_pool(settings)
    if act == "fill":
        began = CLOCK()
        for first in range(0, count, STEP):
            numbers = range(first, min(first + STEP, count))
            await asyncio.gather(*(pool.enqueue_job("nothing", n) for n in numbers))
        say(seconds=CLOCK() - began)
    elif act == "single":
        await single(count, lambda n: pool.enqueue_job("nothing", n))
    elif act == "trickle":
        await trickle(count, wanted["rate"], lambda n: pool.enqueue_job("nothing", n))
    await pool.aclose()


if __name__ == "__main__":
    uvloop.run(main())
