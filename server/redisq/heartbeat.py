"""A worker's heartbeat: it says that it lives and what it holds, and learns what it has lost."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import time
from typing import TYPE_CHECKING, Any

from .names import note_name
from .scripts import Client, script
from .turns import until
from .weather import FAULTS, is_passing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .hands import Hands
    from .options import WorkerOptions
    from .turns import Turns


class Heartbeat:
    """Keeps the leases of what a worker has in hand, three times in each of them."""

    def __init__(  # noqa: PLR0913, PLR0917 - what it speaks to, and of
        self,
        client: Client,
        base: str,
        worker: str,
        tasks: Sequence[str],
        options: WorkerOptions,
        hands: Hands,
        turns: Turns,
    ) -> None:
        self.ended = asyncio.Event()
        """Set: enough. A client may swallow the cancellation of a command, so this is looked at."""
        self._client = client
        self._base = base
        self._worker = worker
        self._tasks = list(tasks)
        self._options = options
        self._hands = hands
        self._turns = turns

    async def run(self) -> None:
        """Beat until `ended`, and cancel what is lost or what somebody asked to cancel.

        Raises redis.exceptions.RedisError when the server refuses for a reason that does not pass.
        """
        lease = self._options.lease_s
        noted = False
        while not self.ended.is_set():
            try:
                said = await script("heartbeat").run(self._client, self._base, self._values())
            except FAULTS as error:
                if not is_passing(error):
                    raise
                await until(self.ended, min(1.0, lease / 10))
                continue
            if not noted:
                noted = await self._note_name()
            _, lost, cancelled = said
            for token in lost:
                self._hands.cancel(token, None)
            for token in cancelled:
                self._hands.cancel(token, "cancelled")
            await until(self.ended, lease / 3)

    async def _note_name(self) -> bool:
        try:
            await note_name(self._client, self._base)
        except FAULTS:
            # Seen to again at the next beat: the leases matter more.
            return False
        return True

    def _values(self) -> list[Any]:
        lease_ms = round(self._options.lease_s * 1000)
        longest_s, self._turns.longest_s = self._turns.longest_s, 0.0
        about = {
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "concurrency": self._options.concurrency,
            "tasks": self._tasks,
            "running": self._hands.running,
            "lease_ms": lease_ms,
            "since_turn_ms": round((time.monotonic() - self._turns.last) * 1000),
            "turn_ms": round(longest_s * 1000, 1),
        }
        turns = self._turns
        values: list[Any] = [self._worker, turns.taken_answered, turns.waited_answered]
        values += (lease_ms, json.dumps(about))
        values += (len(self._tasks), *self._tasks)
        for one in self._hands.held():
            values += (one.id, one.token)
        return values
