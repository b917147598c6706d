"""SAQ: see bench/outbox_peers/protocol.py."""

from __future__ import annotations

import asyncio

import uvloop  # type: ignore[import-not-found, unused-ignore]
from saq import Queue, Worker  # type: ignore[import-not-found, unused-ignore]

from bench.outbox_peers.protocol import CLOCK, Seen, ended, given, say, single, started, trickle

STEP = 100


async def _work(queue: Queue, concurrency: int) -> None:
    seen = Seen()

    async def nothing(_context: object, *, number: int) -> None:
        seen.note(number)

    worker = Worker(queue, functions=[("nothing", nothing)], concurrency=concurrency)
    await queue.connect()
    await started()
    working = asyncio.create_task(worker.start())
    await ended()
    worker.event.set()
    await asyncio.gather(working, return_exceptions=True)
    say(seen=seen.jobs)


async def main() -> None:
    """Does the act that was asked for."""
    wanted = given()
    act, count = wanted["act"], wanted.get("count", 0)
    queue = Queue.from_url(wanted["conninfo"], name="nothing")
    if act == "work":
        await _work(queue, wanted["concurrency"])
        return
    await queue.connect()
    if act == "fill":
        began = CLOCK()
        for first in range(0, count, STEP):
            numbers = range(first, min(first + STEP, count))
            await asyncio.gather(*(queue.enqueue("nothing", number=n) for n in numbers))
        say(seconds=CLOCK() - began)
    elif act == "single":
        await single(count, lambda n: queue.enqueue("nothing", number=n))
    elif act == "trickle":
        await trickle(count, wanted["rate"], lambda n: queue.enqueue("nothing", number=n))
    await queue.disconnect()


if __name__ == "__main__":
    uvloop.run(main())
