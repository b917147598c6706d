"""taskiq on its Redis stream, without a result backend: see bench/outbox_peers/protocol.py."""

from __future__ import annotations

import asyncio
import logging

import uvloop  # type: ignore[import-not-found, unused-ignore]
from taskiq.api import run_receiver_task  # type: ignore[import-not-found, unused-ignore]
from taskiq_redis import RedisStreamBroker  # type: ignore[import-not-found, unused-ignore]

from bench.outbox_peers.protocol import CLOCK, Seen, ended, given, say, single, started, trickle

STEP = 100


async def main() -> None:
    """Does the act that was asked for."""
    wanted = given()
    act, count = wanted["act"], wanted.get("count", 0)
    logging.getLogger("taskiq").setLevel(logging.WARNING)
    broker = RedisStreamBroker(wanted["conninfo"], queue_name="nothing", consumer_id="0")
    seen = Seen()

    @broker.task(task_name="nothing")  # type: ignore[misc, unused-ignore]
    async def nothing(number: int) -> None:
        seen.note(number)

    await broker.startup()
    if act == "work":
        await started()
        working = asyncio.create_task(
            run_receiver_task(broker, max_async_tasks=wanted["concurrency"])
        )
        await ended()
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        say(seen=seen.jobs)
    elif act == "fill":
        began = CLOCK()
        for first in range(0, count, STEP):
            numbers = range(first, min(first + STEP, count))
            await asyncio.gather(*(nothing.kiq(n) for n in numbers))
        say(seconds=CLOCK() - began)
    elif act == "single":
        await single(count, nothing.kiq)
    elif act == "trickle":
        await trickle(count, wanted["rate"], nothing.kiq)
    await broker.shutdown()


if __name__ == "__main__":
    uvloop.run(main())
