"""The queue of this project: `python -m bench.redisq_peers.ours JSON`.

Its worker is put together as `workers queue work` does it; only its task is one that does nothing.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from bench.outbox_peers.protocol import CLOCK, Seen, ended, given, say, single, started, trickle
from server.redis_server import redis_client
from server.redisq import NewJob, Queue, RunningJob, Tasks, Worker, WorkerOptions

if TYPE_CHECKING:
    from redis.asyncio import Redis

NAME = "nothing"


async def _work(url: str, client: Redis, concurrency: int) -> None:
    seen, tasks = Seen(), Tasks()

    @tasks.task(NAME)
    async def nothing(job: RunningJob) -> None:
        seen.note(job.payload["n"])

    options = WorkerOptions(concurrency=concurrency)
    async with redis_client(url, block_s=options.poll_s) as waiting:
        worker = Worker(client, waiting, Queue(client, NAME).base, tasks, options=options)
        await started()
        over = asyncio.create_task(ended())
        over.add_done_callback(lambda _: worker.stop())
        await worker.run()
        await over
    say(seen=seen.jobs)


async def main() -> None:
    """Does the act that was asked for."""
    wanted = given()
    act, url, count = wanted["act"], wanted["conninfo"], wanted.get("count", 0)
    async with redis_client(url) as client:
        queue = Queue(client, NAME)
        if act == "work":
            await _work(url, client, wanted["concurrency"])
        elif act == "fill":
            began = CLOCK()
            await queue.enqueue_many([NewJob(task=NAME, payload={"n": n}) for n in range(count)])
            say(seconds=CLOCK() - began)
        elif act == "single":
            await single(count, lambda n: queue.enqueue(NAME, {"n": n}))
        elif act == "trickle":
            await trickle(count, wanted["rate"], lambda n: queue.enqueue(NAME, {"n": n}))


if __name__ == "__main__":
    asyncio.run(main())
