"""Step 4: the queue of this project.

    python step4.py put hello
    python step4.py work

Every job has an id and is in exactly one place; every move is one script; a claim runs under a
lease and a token, so a worker that died is noticed, and one that comes back too late is refused.
"""

import asyncio
import os
import sys

from common import slow_print
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from server.redisq import FromThread, Queue, Tasks, Worker, WorkerOptions

tasks = Tasks()


@tasks.task("print")
def print_slowly(job: FromThread) -> None:
    """Do the job."""
    slow_print(job.payload)


def client(block_s: float = 0) -> Redis:
    """Return a client that sends nothing twice by itself."""
    url = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0")
    return Redis.from_url(url, retry=Retry(NoBackoff(), 0), socket_timeout=5 + block_s)


async def put(payload: str) -> None:
    """Add a job."""
    async with client() as server:
        print(await Queue(server, "step4").enqueue("print", payload))


async def work() -> None:
    """Run jobs until Ctrl-C."""
    options = WorkerOptions(lease_s=float(os.environ.get("LEASE_SECONDS", "30")))
    async with client() as server, client(options.poll_s) as waiting:
        base = Queue(server, "step4").base
        await Worker(server, waiting, base, tasks, options=options).run()


if __name__ == "__main__":
    asyncio.run(put(sys.argv[2]) if sys.argv[1:2] == ["put"] else work())
