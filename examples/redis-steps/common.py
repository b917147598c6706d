"""What the steps share: the server, and a job that takes its time."""

import os
import time

from redis import Redis


def connect() -> Redis:
    """Return a client of the server that REDIS_URL names."""
    url = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0")
    return Redis.from_url(url, decode_responses=True)


def slow_print(payload: str) -> None:
    """Do the job: say that it begins, take a while, say that it is done."""
    print("begin", payload, flush=True)
    time.sleep(float(os.environ.get("JOB_SECONDS", "1")))
    print("done", payload, flush=True)
