"""Step 1: push, and a pop that waits.

    python step1.py put hello
    python step1.py work

The whole queue is one list. A pop takes the job out of Redis before it is done, so a worker that
dies in the middle takes it along: nobody can tell that there ever was one.
"""

import sys
from collections.abc import Callable

from common import connect, slow_print
from redis import Redis

JOBS = "step1:jobs"


def put(server: Redis, payload: str) -> None:
    """Add a job."""
    server.lpush(JOBS, payload)


def work_once(server: Redis, handle: Callable[[str], None], wait_s: float = 0) -> bool:
    """Run the oldest job, waiting for one; return whether there was one."""
    popped = server.brpop([JOBS], timeout=wait_s)
    if popped is None:
        return False
    handle(popped[1])
    return True


if __name__ == "__main__":
    if sys.argv[1:2] == ["put"]:
        put(connect(), sys.argv[2])
    else:
        while work_once(connect(), slow_print):
            pass
