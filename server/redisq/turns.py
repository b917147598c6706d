"""A worker's turns: numbered, and each sent until the server has answered it."""

from __future__ import annotations

import asyncio
import logging
import math
import random
import time
from typing import TYPE_CHECKING, Any

from redis.exceptions import NoScriptError

from .line import Line
from .scripts import Client, keys, script
from .stored import outcome_arguments, turn_from
from .weather import FAULTS, is_passing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .model import Outcome, Turn
    from .options import WorkerOptions

log = logging.getLogger("redisq")

LONGEST_PAUSE_S = 5.0
ANSWER_S = 5.0
"""For the answer to come, once a wait is over."""
REST_S = 0.5
"""Before waiting again, where waiting fails again and again."""


class Turns:
    """The turns of one worker. Each has a number; the server answers a number it knows as before.

    There are two kinds, numbered apart. `take` sends a turn at once. `wait` sends one behind the
    wait for a wake-up, over another connection and in one write with it, so that the server runs it
    at the moment at which there is something to do; others may be taken meanwhile. Should the
    connection end before the answer has come, then the same turn is sent over the other one: if the
    server has run it, the answer is the same again, and nothing that it claimed is forgotten.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - what it speaks to, and for whom
        self,
        client: Client,
        waiting: Client,
        base: str,
        worker: str,
        tasks: Sequence[str],
        options: WorkerOptions,
    ) -> None:
        self.taken = 0
        self.waited = 0
        """Numbers of the last turn of each kind that was sent, and below: that was answered."""
        self.taken_answered = 0
        self.waited_answered = 0
        self.last = time.monotonic()
        """When the server last answered one."""
        self.longest_s = 0.0
        """What the longest answer took since somebody last set this to 0."""
        self.leaving = asyncio.Event()
        """Set: what the server does not answer is given up."""
        self.deadline = math.inf
        """The same, at this time."""
        self._client = client
        self._line = Line(waiting)
        self._base = base
        self._worker = worker
        self._poll_s = options.poll_s
        self._about = [
            round(options.lease_s * 1000),
            f",{','.join(tasks)},",
            round(options.unknown_s * 1000),
        ]
        self._waiter: asyncio.Task[Any] | None = None
        self._hung_up = False
        self._failed_waits = 0
        self._away = False

    async def take(self, want: int, outcomes: Sequence[Outcome] = ()) -> Turn:
        """Settle, and claim up to so many.

        Raises redis.exceptions.RedisError as Worker.run does.
        """
        self.taken += 1
        turn = await self._until_answered(str(self.taken), want, outcomes)
        self.taken_answered = self.taken
        return turn

    async def wait(self) -> Turn | None:
        """Wait for a wake-up, up to `poll_s`, and claim up to one; None once it has hung up.

        Raises as `take` does.
        """
        if self._failed_waits > 1:
            await until(self.leaving, min(self._poll_s, REST_S))
        if self._hung_up:
            return None
        self.waited += 1
        number = f"{self.waited}w"
        turn = await self._woken(number)
        if turn is None:
            # What it may have claimed must be known, so that it can be given back.
            turn = await self._until_answered(number, 0 if self._hung_up else 1, ())
        self.waited_answered = self.waited
        return turn

    def hang_up(self) -> None:
        """Wait no longer, and not again."""
        self._hung_up = True
        if self._waiter:
            self._waiter.cancel()

    async def close(self) -> None:
        """Give back what it holds of its clients."""
        await self._line.close()

    def _values(self, number: str, want: int, outcomes: Sequence[Outcome]) -> list[Any]:
        return [self._worker, number, want, *self._about, *outcome_arguments(outcomes)]

    async def _woken(self, number: str) -> Turn | None:
        """Return the answer; None if it is not known whether the server has run this turn."""
        wake_up = ("BLPOP", f"{self._base}:wake", self._poll_s)
        values = self._values(number, 1, ())
        turn = ("EVALSHA", script("turn").sha, *keys(self._base), *values)
        self._waiter = asyncio.current_task()
        try:
            async with asyncio.timeout(self._poll_s + ANSWER_S):
                replies = await self._line.send(wake_up, turn)
            for reply in replies:
                if isinstance(reply, Exception):
                    raise reply
        except asyncio.CancelledError:
            if not self._hung_up or (self._waiter and self._waiter.uncancel()):
                raise
            return None
        except NoScriptError:
            return None
        except FAULTS as error:
            if not is_passing(error):
                raise
            self._failed_waits += 1
            return None
        finally:
            self._waiter = None
        self._failed_waits = 0
        self.last = time.monotonic()
        return turn_from(replies[1])

    async def _until_answered(self, number: str, want: int, outcomes: Sequence[Outcome]) -> Turn:
        values = self._values(number, want, outcomes)
        failures = 0
        while True:
            began = time.monotonic()
            try:
                turn = turn_from(await script("turn").run(self._client, self._base, values))
            except FAULTS as error:
                if not is_passing(error):
                    raise
                failures += 1
                self._note_away(error)
                if self.leaving.is_set() or time.monotonic() > self.deadline:
                    raise
                pause = min(LONGEST_PAUSE_S, 0.1 * 2 ** min(failures, 10))
                pause = min(pause, self.deadline - time.monotonic())
                await until(self.leaving, pause * random.uniform(0.5, 1))  # noqa: S311
            else:
                break
        if self._away:
            self._away = False
            log.info("the server is back", extra={"action": "queue-back", "worker": self._worker})
        self.last = time.monotonic()
        self.longest_s = max(self.longest_s, self.last - began)
        return turn

    def _note_away(self, error: Exception) -> None:
        """Tell it once, whichever turn notices it."""
        if not self._away:
            self._away = True
            log.warning(
                "the server is away",
                extra={"action": "queue-away", "worker": self._worker, "error": str(error)},
            )


async def until(event: asyncio.Event, seconds: float) -> None:
    """Wait until it has happened, but not for longer than that."""
    if event.is_set():
        return
    try:
        async with asyncio.timeout(None if seconds == math.inf else max(0.0, seconds)):
            await event.wait()
    except TimeoutError:
        pass
