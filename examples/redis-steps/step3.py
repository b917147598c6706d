"""Step 3: try a failed job again, after a pause.

    python step3.py put hello
    python step3.py work
    python step3.py promote

Two ways that are met everywhere. A timer in the worker (`retry_by_timer`) dies with the worker, and
the job with it. A sorted set of what is due later (`retry_later`, `promote`) survives, but what is
moved by two commands is nowhere between them, or twice there: a promoter that dies after the
removal loses the job, and two promoters that both look before either removes push it twice.
"""

import sys
import threading
import time
from collections.abc import Callable

from common import connect, slow_print
from redis import Redis

JOBS = "step3:jobs"
PROCESSING = "step3:processing"
LATER = "step3:later"


def put(server: Redis, payload: str) -> None:
    """Add a job."""
    server.lpush(JOBS, payload)


def retry_by_timer(server: Redis, payload: str, pause_s: float) -> None:
    """Take a failed job off the list, and put it back when the timer goes off."""
    server.lrem(PROCESSING, 1, payload)
    timer = threading.Timer(pause_s, server.lpush, [JOBS, payload])
    timer.daemon = True
    timer.start()


def retry_later(server: Redis, payload: str, pause_s: float) -> None:
    """Take a failed job off the list, and note when it is due again."""
    server.lrem(PROCESSING, 1, payload)
    server.zadd(LATER, {payload: time.time() + pause_s})


def due(server: Redis) -> list[str]:
    """Look which jobs are due."""
    return server.zrangebyscore(LATER, "-inf", time.time())


def promote(server: Redis, payloads: list[str], between: Callable[[], None] = lambda: None) -> None:
    """Put jobs back that are due. `between` is where the world may intervene."""
    for payload in payloads:
        server.zrem(LATER, payload)
        between()
        server.lpush(JOBS, payload)


def work_once(
    server: Redis,
    handle: Callable[[str], None],
    wait_s: float = 0,
    retry: Callable[[Redis, str, float], None] = retry_later,
    pause_s: float = 1,
) -> bool:
    """Run the oldest job, waiting for one; try it again later if it fails."""
    payload = server.blmove(JOBS, PROCESSING, wait_s, "RIGHT", "LEFT")
    if payload is None:
        return False
    try:
        handle(payload)
    except Exception as error:  # noqa: BLE001 - whatever a job raises is tried again
        print("failed", payload, error, flush=True)
        retry(server, payload, pause_s)
    else:
        server.lrem(PROCESSING, 1, payload)
    return True


if __name__ == "__main__":
    if sys.argv[1:2] == ["put"]:
        put(connect(), sys.argv[2])
    elif sys.argv[1:2] == ["promote"]:
        promote(connect(), due(connect()))
    else:
        while work_once(connect(), slow_print):
            pass
