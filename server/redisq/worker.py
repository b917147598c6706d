"""A worker of the queue: turn after turn until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import socket
import time
import uuid
from typing import TYPE_CHECKING

from . import repeats
from .codec import Codec, JsonCodec
from .hands import Hands
from .heartbeat import Heartbeat
from .options import WorkerOptions
from .run import Runner
from .turns import Turns, until

if TYPE_CHECKING:
    from .model import Outcome, Turn
    from .scripts import Client
    from .tasks import Tasks

log = logging.getLogger("redisq")

MOST_OUTCOMES = 100
MOST_WANTED = 100
SOON_S = 0.001
"""So as not to come a moment too early."""


class Worker:
    """Claims jobs of one queue and runs them, `concurrency` at a time.

    `client` speaks to the server for scripts; `waiting` is another client, for the one command that
    blocks: its socket time-out must be longer than `poll_s`, and its own retries off. Either is a
    redis.asyncio.Redis or RedisCluster without `decode_responses`.
    """

    def __init__(  # noqa: PLR0913 - two connections, what to do, and how
        self,
        client: Client,
        waiting: Client,
        base: str,
        tasks: Tasks,
        *,
        options: WorkerOptions | None = None,
        codec: Codec | None = None,
    ) -> None:
        self.options = options or WorkerOptions()
        self.id = f"{socket.gethostname()[:40]}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self.counts = {"done": 0, "failed": 0, "late": 0, "claimed": 0}
        self._client = client
        self._base = base
        names = list(tasks)
        runner = Runner(tasks, client, base, codec or JsonCodec(), self.options)
        self.hands = Hands(runner, self.options.concurrency)
        self.turns = Turns(client, waiting, base, self.id, names, self.options)
        self._heartbeat = Heartbeat(
            client, base, self.id, names, self.options, self.hands, self.turns
        )
        self._may_wait = asyncio.Event()
        self._more = False
        self._due = math.inf
        """When a turn is wanted, though nothing may have ended."""
        self._stopping = False

    @property
    def last_turn(self) -> float:
        """When (time.monotonic) the server last answered a turn: the worker's health.

        A worker that is well takes one each `poll_s` at least.
        """
        return self.turns.last

    def stop(self) -> None:
        """Claim nothing more; a second call gives back at once what still runs."""
        if self._stopping:
            self.turns.leaving.set()
        else:
            self._stopping = True
            self.turns.deadline = time.monotonic() + self.options.grace_s
            self.turns.hang_up()
        self.hands.stir.set()
        self._may_wait.set()

    async def run(self) -> None:
        """Work until `stop`, then finish or give back what runs; everything is settled then.

        Cancelled, it leaves what it holds to the leases. Raises redis.exceptions.RedisError when
        the server refuses for a reason that does not pass, and when it is still away at the end of
        the grace period: then too, what is held is left to the leases.
        """
        wait = asyncio.create_task(self._wait(), name="wait")
        work = asyncio.create_task(self._work(wait), name="work")
        tasks = {work, wait, asyncio.create_task(self._heartbeat.run(), name="heartbeat")}
        left = tasks
        try:
            while work in left:
                done, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
        finally:
            self._stopping = True
            self._heartbeat.ended.set()
            self.hands.abandon()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self.turns.close()

    async def _work(self, wait: asyncio.Task[None]) -> None:
        while not self._stopping:
            self._may_wait.clear()
            self.hands.stir.clear()
            had = await self._turn(min(self.hands.free, MOST_WANTED))
            if had or self.hands.outcomes:
                # What was just started may end in this pass of the loop, to be settled together.
                await asyncio.sleep(0)
                if self.hands.outcomes:
                    continue
            await self._rest()
        await asyncio.wait([wait])
        await self._finish()

    async def _rest(self) -> None:
        """Until something is to be settled, more is to be had, or something is due."""
        hands = self.hands
        while not (self._stopping or hands.outcomes or (self._more and hands.free > 0)):
            due = self._due
            if hands.running >= self.options.concurrency:
                # Then nothing waits for a wake-up, and it is this that looks for what was lost.
                due = min(due, self.turns.last + self.options.poll_s)
            else:
                self._may_wait.set()
            left = due - time.monotonic()
            if left <= 0:
                break
            hands.stir.clear()
            await until(hands.stir, left)

    async def _wait(self) -> None:
        """Wait for wake-ups whenever a hand is free and no turn is under way that may fill it."""
        hands = self.hands
        while not self._stopping:
            if hands.free < 1:
                self._may_wait.clear()
            await self._may_wait.wait()
            if self._stopping or hands.free < 1:
                continue
            with hands.promised(1):
                turn = await self.turns.wait()
            if turn:
                due = self._due
                await self._accept(turn)
                if self._more or self._due < due:
                    hands.stir.set()
                # What was started comes first.
                await asyncio.sleep(0)

    async def _turn(self, want: int) -> bool:
        """Send outcomes, get jobs; tell whether there were any."""
        hands = self.hands
        with hands.promised(want), hands.settling(MOST_OUTCOMES) as part:
            turn = await self.turns.take(want, part)
        self._note(part, turn)
        await self._accept(turn)
        return bool(turn.claims)

    async def _accept(self, turn: Turn) -> None:
        for claim in turn.claims:
            if self._stopping:
                self.hands.give_back(claim)
            else:
                self.hands.start(claim)
        self.counts["claimed"] += len(turn.claims)
        self._more = turn.more
        due_ms = turn.due_ms
        if turn.questions:
            first_ms = await repeats.answer(self._client, self._base, turn.questions)
            if first_ms is not None:
                due_ms = first_ms if due_ms is None else min(due_ms, first_ms)
        self._due = math.inf if due_ms is None else time.monotonic() + due_ms / 1000 + SOON_S

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

    async def _finish(self) -> None:
        """Let what runs end within the grace period, give back the rest, and settle everything."""
        hands, turns = self.hands, self.turns
        while hands.running and not turns.leaving.is_set() and time.monotonic() < turns.deadline:
            hands.stir.clear()
            if hands.outcomes:
                await self._turn(0)
            else:
                await until(hands.stir, turns.deadline - time.monotonic())
        await hands.drop()
        while hands.outcomes:
            await self._turn(0)
