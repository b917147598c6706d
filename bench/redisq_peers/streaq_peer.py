"""streaQ: see bench/outbox_peers/protocol.py."""

from __future__ import annotations

import asyncio

import uvloop  # type: ignore[import-not-found, unused-ignore]
from streaq import Worker  # type: ignore[import-not-found, unused-ignore]

from bench.outbox_peers.protocol import CLOCK, Seen, ended, given, say, single, started, trickle

STEP = 1000


async def main() -> None:
    """Does the act that was asked for."""
    wanted = given()
    act, count = wanted["act"], wanted.get("count", 0)
    worker = Worker(
        redis_url=wanted["conninfo"],
        concurrency=wanted.get("concurrency", 1),
        handle_signals=False,
    )
    seen = Seen()

    @worker.task  # type: ignore[misc, unused-ignore]
    async def nothing(number: int) -> None:
        seen.note(number)

    if act == "work":
        await started()
        working = asyncio.create_task(worker.run_async())
        await ended()
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        say(seen=seen.jobs)
        return
    async with worker:

        async def add(number: int) -> None:
            await nothing.enqueue(number)

        if act == "fill":
            began = CLOCK()
            for first in range(0, count, STEP):
                numbers = range(first, min(first + STEP, count))
                await worker.enqueue_many([nothing.enqueue(n) for n in numbers])
            say(seconds=CLOCK() - began)
        elif act == "single":
            await single(count, add)
        elif act == "trickle":
            await trickle(count, wanted["rate"], add)


if __name__ == "__main__":
    uvloop.run(main())
