"""Step 2: move into a processing list, acknowledge, recover by age.

    python step2.py put hello
    python step2.py work
    python step2.py recover 30

A job stays in Redis until it is done, and whoever looks brings back what is too old. Three holes
are left. The move and the note of when it began are two commands, so a worker that dies between
them, or never gets the move's reply, leaves a job without an age: it lies there for ever. Jobs are
told apart by their payload, so two equal ones share one age and one acknowledgement. And to
acknowledge is to search the whole list.
"""

import sys
import time
from collections.abc import Callable

from common import connect, slow_print
from redis import Redis

JOBS = "step2:jobs"
PROCESSING = "step2:processing"
BEGAN = "step2:began"


def put(server: Redis, payload: str) -> None:
    """Add a job."""
    server.lpush(JOBS, payload)


def take(server: Redis, wait_s: float = 0) -> str | None:
    """Move the oldest job to those in processing, waiting for one, and note when."""
    payload = server.blmove(JOBS, PROCESSING, wait_s, "RIGHT", "LEFT")
    if payload is not None:
        server.hset(BEGAN, payload, str(time.time()))
    return payload


def acknowledge(server: Redis, payload: str) -> None:
    """Forget a job that is done."""
    server.lrem(PROCESSING, 1, payload)
    server.hdel(BEGAN, payload)


def work_once(server: Redis, handle: Callable[[str], None], wait_s: float = 0) -> bool:
    """Run the oldest job, waiting for one; return whether there was one."""
    payload = take(server, wait_s)
    if payload is None:
        return False
    handle(payload)
    acknowledge(server, payload)
    return True


def recover(server: Redis, older_than_s: float) -> int:
    """Put back what has been in processing for longer than that; return how many."""
    brought = 0
    for payload, began in server.hgetall(BEGAN).items():
        if time.time() - float(began) > older_than_s and server.lrem(PROCESSING, 1, payload):
            server.hdel(BEGAN, payload)
            server.rpush(JOBS, payload)
            brought += 1
    return brought


if __name__ == "__main__":
    if sys.argv[1:2] == ["put"]:
        put(connect(), sys.argv[2])
    elif sys.argv[1:2] == ["recover"]:
        print(recover(connect(), float(sys.argv[2])), "brought back")
    else:
        while work_once(connect(), slow_print):
            pass
