"""RQ's task: its worker imports a task's module by name, so it is not in its program."""

from __future__ import annotations

from bench.outbox_peers.protocol import Seen

SEEN = Seen()
NOTHING = "bench.redisq_peers.rq_tasks.nothing"


def nothing(number: int) -> None:
    """Notes it."""
    SEEN.note(number)
