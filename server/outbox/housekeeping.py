"""What has to be done now and then, by any worker, and costs little when there is nothing to do."""

from __future__ import annotations

from . import queue
from .changes import purge_changes
from .history import sample_depth
from .queue import Connection
from .retention import Retention, purge

PURGE_S = 0.2
"""For how long a worker deletes old deliveries before it goes back to sending new ones."""


async def housekeeping(connection: Connection, retention: Retention | None = None) -> None:
    """Folds the deltas behind the depth, samples the depth once a minute, deletes what is old.

    Every part is bounded, and any number of workers may do it at the same time. The connection
    must be in autocommit mode.
    """
    await queue.fold(connection)
    await sample_depth(connection)
    await purge_changes(connection)
    await purge(connection, retention or Retention(), batch=500, max_s=PURGE_S)
