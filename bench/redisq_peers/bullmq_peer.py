"""BullMQ's package for Python, keeping nothing that is done: see bench/outbox_peers/protocol.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import uvloop  # type: ignore[import-not-found, unused-ignore]
from bullmq import Queue, Worker  # type: ignore[import-not-found, unused-ignore]

from bench.outbox_peers.protocol import CLOCK, Seen, ended, given, say, single, started, trickle

if TYPE_CHECKING:
    from bullmq import Job  # type: ignore[import-not-found, unused-ignore]

NAME = "nothing"
STEP = 500
GONE = {"removeOnComplete": True}


async def main() -> None:
    """Does the act that was asked for."""
    wanted = given()
    act, url, count = wanted["act"], wanted["conninfo"], wanted.get("count", 0)
    if act == "work":
        seen = Seen()

        async def nothing(job: Job, _token: str) -> None:
            seen.note(job.data["n"])

        await started()
        worker = Worker(NAME, nothing, {"connection": url, "concurrency": wanted["concurrency"]})
        await ended()
        await worker.close(force=True)
        say(seen=seen.jobs)
        return
    queue = Queue(NAME, {"connection": url})
    if act == "fill":
        began = CLOCK()
        for first in range(0, count, STEP):
            numbers = range(first, min(first + STEP, count))
            await queue.addBulk([{"name": NAME, "data": {"n": n}, "opts": GONE} for n in numbers])
        say(seconds=CLOCK() - began)
    elif act == "single":
        await single(count, lambda n: queue.add(NAME, {"n": n}, GONE))
    elif act == "trickle":
        await trickle(count, wanted["rate"], lambda n: queue.add(NAME, {"n": n}, GONE))
    await queue.close()


if __name__ == "__main__":
    uvloop.run(main())
