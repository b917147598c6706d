"""What producer and worker both know: the server, the queue, and the tasks."""

import os

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redisq import PermanentError, Queue, RunningJob, Tasks

tasks = Tasks()


@tasks.task("greet")
async def greet(job: RunningJob) -> str:
    """Greet somebody; the result is kept with the job."""
    name = job.payload["name"]
    if name == "nobody":
        raise PermanentError("there is nobody to greet")
    print(f"Hello {name}", flush=True)
    return f"greeted {name} at attempt {job.attempt}"


def connect(block_s: float = 0) -> Redis:
    """Return a client of the server that REDIS_URL names, for commands that block so long.

    It sends nothing again by itself: a worker does that, with the patience that it needs.
    """
    retry = Retry(NoBackoff(), 0)
    return Redis.from_url(os.environ["REDIS_URL"], socket_timeout=block_s + 5, retry=retry)


def queue_of(client: Redis) -> Queue:
    """Return the queue of this example."""
    return Queue(client, "greetings")
