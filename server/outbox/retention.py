"""Deletes what has ended long ago, the oldest first, in batches that nobody waits for."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from .errors import ConfigurationError
from .policy import DAY_S, LONGEST_S
from .queue import Connection
from .statements import statement

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Retention:
    """For how long deliveries are kept after their end, in seconds.

    An idempotency key is known for as long as its delivery is kept. Raises ConfigurationError
    when a span is negative, or longer than ten years.
    """

    sent_s: float = 14 * DAY_S
    ended_s: float = 90 * DAY_S

    def __post_init__(self) -> None:
        for name in ("sent_s", "ended_s"):
            if not 0 <= getattr(self, name) <= LONGEST_S:
                raise ConfigurationError(
                    f"{name} must lie between 0 and {LONGEST_S:.0f} (ten years), "
                    f"not at {getattr(self, name)}"
                )


@dataclass(slots=True)
class Purged:
    """How many were deleted. `finished` is false when its time ran out before all were."""

    sent: int = 0
    failed: int = 0
    dead: int = 0
    messages: int = 0
    finished: bool = True

    @property
    def total(self) -> int:
        """All of them together."""
        return self.sent + self.failed + self.dead + self.messages


async def purge(
    connection: Connection,
    retention: Retention,
    *,
    batch: int = 1000,
    max_s: float | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Purged:
    """Deletes what is older than it is kept, each batch a statement (and a transaction) of its own.

    Begins no batch after `max_s` seconds, but at least one of each kind. Their attempts go with
    the deliveries. Safe beside workers and other purges; the connection must be in autocommit
    mode, or it all becomes one long transaction.
    """
    ends = None if max_s is None else clock() + max_s
    done = Purged()
    for kind, name, keep_s in (
        ("sent", "purge_sent", retention.sent_s),
        ("failed", "purge_ended", retention.ended_s),
        ("dead", "purge_ended", retention.ended_s),
        ("messages", "purge_messages", retention.sent_s),
    ):
        while True:
            cursor = await connection.execute(
                statement(name), {"status": kind, "keep_s": keep_s, "limit": batch}
            )
            setattr(done, kind, getattr(done, kind) + cursor.rowcount)
            if cursor.rowcount < batch:
                break
            if ends is not None and clock() >= ends:
                done.finished = False
                break
    if done.total:
        log.info(
            "purged %d rows",
            done.total,
            extra={
                "action": "purge",
                "sent": done.sent,
                "failed": done.failed,
                "dead": done.dead,
                "messages": done.messages,
            },
        )
    return done
