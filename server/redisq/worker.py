"""A worker of the queue: turn after turn until it is told to stop."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
import random
import socket
import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from redis.exceptions import RedisError

from .codec import Codec, JsonCodec
from .model import Claim, Kind, Outcome, Turn
from .options import WorkerOptions
from .run import Runner
from .scripts import script
from .stored import turn_from
from .weather import is_passing

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from .tasks import Tasks

log = logging.getLogger("redisq")

MOST_OUTCOMES = 100
MOST_WANTED = 100
LONGEST_PAUSE_S = 5.0
CANCEL_S = 1.0
"""For a handler that is cancelled at the end to clean up, before its job may run elsewhere."""


@dataclass
class _Run:
    claim: Claim
    task: asyncio.Task[None]
    instead: Outcome | None = None
    """How it ends when it is cancelled; None if nobody wants to know any longer."""


class Worker:
    """Claims jobs of one queue and runs them, `concurrency` at a time.

    `client` speaks to the server for scripts; `waiting` is another client, for the one command that
    blocks: its socket time-out must be longer than `poll_s`, and its own retries off.
    """

    def __init__(  # noqa: PLR0913 - two connections, what to do, and how
        self,
        client: Redis,
        waiting: Redis,
        base: str,
        tasks: Tasks,
        *,
        options: WorkerOptions | None = None,
        codec: Codec | None = None,
    ) -> None:
        self.options = options or WorkerOptions()
        self.id = f"{socket.gethostname()[:40]}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self.last_turn = time.monotonic()
        """When the server last answered a turn; a worker that does nothing shows by this."""
        self.counts = {"done": 0, "failed": 0, "late": 0, "claimed": 0}
        self._client = client
        self._waiting = waiting
        self._base = base
        self._tasks = list(tasks)
        self._names = f",{','.join(tasks)},"
        self._runner = Runner(tasks, client, base, codec or JsonCodec(), self.options)
        self._running: dict[int, _Run] = {}
        """By the token of the claim: a job may come again while its lost run still winds up."""
        self._outcomes: list[Outcome] = []
        self._seq = 0
        self._answered = 0
        self._in_flight: list[Outcome] = []
        self._stir = asyncio.Event()
        self._room = asyncio.Event()
        self._stopping = False
        self._deadline = math.inf
        self._leaving = asyncio.Event()
        self._ended = False

    def stop(self) -> None:
        """Claim nothing more; a second call gives back at once what still runs."""
        if self._stopping:
            self._leaving.set()
        else:
            self._stopping = True
            self._deadline = time.monotonic() + self.options.grace_s
        self._stir.set()

    async def run(self) -> None:
        """Work until `stop`, then finish or give back what runs; everything is settled then.

        Cancelled, it leaves what it holds to the leases. Raises redis.exceptions.RedisError when
        the server refuses for a reason that does not pass, and when it is still away at the end of
        the grace period: then too, what is held is left to the leases.
        """
        work = asyncio.create_task(self._work(), name="work")
        helpers = [
            asyncio.create_task(self._listen(), name="listen"),
            asyncio.create_task(self._beat(), name="heartbeat"),
        ]
        try:
            # A helper does not end before the work does, but by an error.
            await asyncio.wait([work, *helpers], return_when=asyncio.FIRST_COMPLETED)
            for task in [*helpers, work]:
                if task.done():
                    task.result()
        finally:
            # A client may swallow the cancellation of a command, so they look for themselves too.
            self._ended = True
            for task in [work, *helpers, *(run.task for run in self._running.values())]:
                task.cancel()
            await asyncio.gather(work, *helpers, return_exceptions=True)

    async def _work(self) -> None:
        await self._go_on()
        await self._finish()

    async def _go_on(self) -> None:
        while not self._stopping and not self._ended:
            self._stir.clear()
            free = self.options.concurrency - len(self._running)
            turn = await self._turn(min(free, MOST_WANTED))
            for claim in turn.claims:
                self._start(claim)
            if turn.claims or self._outcomes:
                # What was just started may end in this pass of the loop, to be settled together.
                await asyncio.sleep(0)
                if self._outcomes:
                    continue
            if len(self._running) < self.options.concurrency:
                self._room.set()
            wait = self.options.poll_s
            if turn.due_ms is not None:
                wait = min(wait, turn.due_ms / 1000 + 0.001)
            await _event(self._stir, wait)

    async def _turn(self, want: int) -> Turn:
        """Send outcomes, get jobs. The same turn is sent until the server answers it."""
        part, self._outcomes = self._outcomes[:MOST_OUTCOMES], self._outcomes[MOST_OUTCOMES:]
        self._in_flight = part
        self._seq += 1
        options = self.options
        values: list[Any] = [
            self.id,
            self._seq,
            want,
            round(options.lease_s * 1000),
            self._names,
            round(options.unknown_s * 1000),
            len(part),
        ]
        for outcome in part:
            values += (outcome.id, outcome.token, outcome.kind, outcome.delay_ms, outcome.text)
        failures = 0
        while True:
            try:
                turn = turn_from(await script("turn").run(self._client, self._base, values))
            except (RedisError, OSError) as error:
                if not is_passing(error):
                    raise
                failures += 1
                if failures == 1:
                    log.warning(
                        "the server is away",
                        extra={"action": "queue-away", "worker": self.id, "error": str(error)},
                    )
                if self._leaving.is_set() or time.monotonic() > self._deadline:
                    raise
                pause = min(LONGEST_PAUSE_S, 0.1 * 2 ** min(failures, 10))
                pause = min(pause, self._deadline - time.monotonic())
                await _event(self._leaving, pause * random.uniform(0.5, 1))  # noqa: S311
                continue
            break
        if failures:
            log.info("the server is back", extra={"action": "queue-back", "worker": self.id})
        self.last_turn = time.monotonic()
        self._answered, self._in_flight = self._seq, []
        self._note(part, turn)
        return turn

    def _note(self, part: list[Outcome], turn: Turn) -> None:
        for outcome, verdict in zip(part, turn.verdicts, strict=True):
            if verdict == "late":
                self.counts["late"] += 1
                log.warning(
                    "an outcome came too late",
                    extra={"action": "queue-late", "job": outcome.id, "token": outcome.token},
                )
            elif outcome.kind == "done":
                self.counts["done"] += 1
            elif outcome.kind in {"retry", "dead"}:
                self.counts["failed"] += 1
        self.counts["claimed"] += len(turn.claims)

    def _start(self, claim: Claim) -> None:
        task = asyncio.create_task(self._run(claim), name=f"job {claim.id}")
        self._running[claim.token] = _Run(claim, task)
        if len(self._running) >= self.options.concurrency:
            self._room.clear()

    async def _run(self, claim: Claim) -> None:
        try:
            outcome = await self._runner.run(claim)
        except asyncio.CancelledError:
            outcome = self._running[claim.token].instead
        else:
            # A handler may turn its cancellation into an error of its own.
            instead = self._running[claim.token].instead
            if instead and outcome and outcome.kind in {"retry", "dead"}:
                outcome = instead
        finally:
            del self._running[claim.token]
            self._stir.set()
        if outcome:
            self._outcomes.append(outcome)

    async def _listen(self) -> None:
        """Wait for wake-ups while there is room. What it misses costs `poll_s` at most."""
        wake = f"{self._base}:wake"
        while not self._ended:
            await self._room.wait()
            try:
                told = await self._waiting.blpop([wake], timeout=self.options.poll_s)
                if told and not self._room.is_set():
                    await self._client.rpush(wake, 1)
            except (RedisError, OSError) as error:
                if not is_passing(error):
                    raise
                # The turn tells about a server that is away.
                await asyncio.sleep(min(self.options.poll_s, 0.5))
                continue
            if told:
                self._stir.set()

    async def _beat(self) -> None:
        """Keep the leases, learn what was lost, and give up what is not ours any longer."""
        lease = self.options.lease_s
        while not self._ended:
            held = [run.claim for run in self._running.values()]
            about = json.dumps(
                {
                    "host": socket.gethostname(),
                    "pid": os.getpid(),
                    "concurrency": self.options.concurrency,
                    "tasks": self._tasks,
                    "running": len(held),
                }
            )
            values: list[Any] = [self.id, self._answered, round(lease * 1000), about]
            values += (len(self._tasks), *self._tasks)
            for claim in held:
                values += (claim.id, claim.token)
            for outcome in [*self._in_flight, *self._outcomes]:
                values += (outcome.id, outcome.token)
            try:
                _, lost, cancelled = await script("heartbeat").run(self._client, self._base, values)
            except (RedisError, OSError) as error:
                if not is_passing(error):
                    raise
                await asyncio.sleep(min(1.0, lease / 10))
                continue
            for token in lost:
                self._cancel(token, None)
            for token in cancelled:
                self._cancel(token, "cancelled")
            await asyncio.sleep(lease / 3)

    def _cancel(self, token: int, kind: Kind | None) -> None:
        """Cancel a run that still goes on, to end as `kind`; None if its lease is lost."""
        run = self._running.get(token)
        if not run:
            return
        if kind is None:
            log.warning(
                "lost the lease of a job",
                extra={"action": "queue-lost", "job": run.claim.id, "token": token},
            )
        run.instead = Outcome(run.claim.id, token, kind) if kind else None
        run.task.cancel()

    async def _finish(self) -> None:
        """Let what runs end within the grace period, give back the rest, and settle everything."""
        self._room.clear()
        while self._running and not self._leaving.is_set() and time.monotonic() < self._deadline:
            self._stir.clear()
            if self._outcomes:
                await self._turn(0)
            else:
                await _event(self._stir, self._deadline - time.monotonic())
        for token in list(self._running):
            self._cancel(token, "release")
        left = [run.task for run in self._running.values()]
        if left:
            await asyncio.wait(left, timeout=CANCEL_S)
        for token, run in self._running.items():
            self._outcomes.append(Outcome(run.claim.id, token, "release"))
        while self._outcomes:
            await self._turn(0)


async def _event(event: asyncio.Event, seconds: float) -> None:
    """Wait until it has happened, but not for longer than that."""
    if event.is_set():
        return
    try:
        async with asyncio.timeout(max(0.0, seconds)):
            await event.wait()
    except TimeoutError:
        pass
