"""RQ with its worker that forks no process, keeping no results: see protocol.py.

Its worker runs one job at a time, whatever the concurrency.
"""

from __future__ import annotations

import os
import sys
import threading
import time

import redis
from rq import Queue, SimpleWorker  # type: ignore[import-not-found, unused-ignore]

from bench.outbox_peers.protocol import CLOCK, given, say
from bench.redisq_peers.rq_tasks import NOTHING, SEEN

STEP = 500


def _say_and_end() -> None:
    """Its worker sleeps in a blocking command, so nothing can ask it to end."""
    sys.stdin.read()
    say(seen=SEEN.jobs)
    os._exit(0)


def _work(queue: Queue, connection: redis.Redis) -> None:
    worker = SimpleWorker([queue], connection=connection)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    threading.Thread(target=_say_and_end, daemon=True).start()
    worker.work(logging_level="WARNING")


def main() -> None:
    """Does the act that was asked for."""
    wanted = given()
    act, count = wanted["act"], wanted.get("count", 0)
    connection = redis.Redis.from_url(wanted["conninfo"])
    queue = Queue("nothing", connection=connection)

    def add(number: int) -> None:
        queue.enqueue(NOTHING, number, result_ttl=0)

    began = CLOCK()
    if act == "work":
        _work(queue, connection)
    elif act == "fill":
        for first in range(0, count, STEP):
            numbers = range(first, min(first + STEP, count))
            queue.enqueue_many([Queue.prepare_data(NOTHING, (n,), result_ttl=0) for n in numbers])
        say(seconds=CLOCK() - began)
    elif act == "single":
        for number in range(count):
            add(number)
        say(seconds=CLOCK() - began)
    elif act == "trickle":
        at, begun = [], []
        for number in range(count):
            time.sleep(max(0.0, began + number / wanted["rate"] - CLOCK()))
            begun.append(CLOCK())
            add(number)
            at.append(CLOCK())
        say(at=at, begun=begun)


if __name__ == "__main__":
    main()
