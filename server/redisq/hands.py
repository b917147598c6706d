"""What a worker has in hand: jobs that run, and outcomes that wait to be settled."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .model import Claim, Kind, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .run import Runner

log = logging.getLogger("redisq")

CANCEL_S = 1.0
"""For a handler that is cancelled at the end to clean up, before its job may run elsewhere."""


@dataclass
class _Run:
    claim: Claim
    task: asyncio.Task[None]
    instead: Outcome | None = None
    """How it ends when it is cancelled; None if nobody wants to know any longer."""


class Hands:
    """So many hands, each of which runs a job, is promised to one that is asked for, or is free."""

    def __init__(self, runner: Runner, count: int) -> None:
        self.stir = asyncio.Event()
        """Something has ended, or there is something else to look at."""
        self.outcomes: list[Outcome] = []
        self._runner = runner
        self._count = count
        self._promised = 0
        self._running: dict[int, _Run] = {}
        """By the token of the claim: a job may come again while its lost run still winds up."""
        self._settling: list[Outcome] = []

    @property
    def free(self) -> int:
        """How many jobs may be asked for."""
        return self._count - self._promised - len(self._running)

    @property
    def running(self) -> int:
        """How many jobs run."""
        return len(self._running)

    @contextlib.contextmanager
    def promised(self, count: int) -> Iterator[None]:
        """Keep so many hands for what is being asked for."""
        self._promised += count
        try:
            yield
        finally:
            self._promised -= count

    @contextlib.contextmanager
    def settling(self, most: int) -> Iterator[list[Outcome]]:
        """Give the first outcomes away, to be settled; meanwhile they are still held."""
        part, self.outcomes = self.outcomes[:most], self.outcomes[most:]
        self._settling = part
        yield part
        self._settling = []

    def held(self) -> list[Claim | Outcome]:
        """Everything that is not settled yet."""
        runs = (run.claim for run in self._running.values())
        return [*runs, *self._settling, *self.outcomes]

    def start(self, claim: Claim) -> None:
        """Run a job."""
        task = asyncio.create_task(self._run(claim), name=f"job {claim.id}")
        self._running[claim.token] = _Run(claim, task)

    def give_back(self, claim: Claim) -> None:
        """Let a job that was not started wait again."""
        self.outcomes.append(Outcome(claim.id, claim.token, "release"))

    def cancel(self, token: int, kind: Kind | None) -> None:
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

    async def drop(self) -> None:
        """Give back what runs, whether or not its handler ends within moments."""
        for token in list(self._running):
            self.cancel(token, "release")
        left = [run.task for run in self._running.values()]
        if left:
            await asyncio.wait(left, timeout=CANCEL_S)
        for run in self._running.values():
            self.give_back(run.claim)

    def abandon(self) -> None:
        """Cancel what runs, and leave it to its lease."""
        for run in self._running.values():
            run.task.cancel()

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
            self.stir.set()
        if outcome:
            self.outcomes.append(outcome)
