"""Starts a process for a run: it exists for that alone, and is gone when the run has ended."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from server.jobs.model import Claim
from server.jobs.registry import Job

log = logging.getLogger(__name__)

STARTING_S = 30.0
"""What a process may take beyond its job's time-out, to start and to write down its end."""


@dataclass(frozen=True, slots=True)
class JobProcess:
    """A process that exists because a job runs."""

    job: str
    run: int
    pid: int
    started_at: datetime


class Launcher:
    """Starts a process for each run, and ends those that are left when it is closed.

    A process holds the read end of a pipe to us and ends when that closes, so it does not outlive
    us even after a `kill -9`. One that does not end when its time is over is killed.
    """

    def __init__(self, conninfo: str) -> None:
        self._environment = {**os.environ, "DATABASE_URL": conninfo}
        self._live: dict[int, tuple[JobProcess, asyncio.subprocess.Process]] = {}
        self._watches: set[asyncio.Task[None]] = set()
        self._ended: list[Callable[[], None]] = []

    @property
    def live(self) -> Sequence[JobProcess]:
        """The processes that exist now."""
        return [one for one, _ in self._live.values()]

    def when_one_ends(self, call: Callable[[], None]) -> None:
        """Has `call` called after the end of each process."""
        self._ended.append(call)

    async def launch(self, job: Job, claim: Claim) -> None:
        """Starts a process for a run that has begun. Raises OSError if there can be none."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "server.jobs.process"),
            *(claim.job, str(claim.run), str(claim.fence)),
            stdin=asyncio.subprocess.PIPE,
            env=self._environment,
            start_new_session=True,
        )
        self._live[claim.run] = (
            JobProcess(claim.job, claim.run, process.pid, claim.started_at),
            process,
        )
        log.info(
            "started a process for run %d of %s",
            claim.run,
            claim.job,
            extra={"action": "job-start", "job": claim.job, "run": claim.run, "pid": process.pid},
        )
        watch = asyncio.create_task(self._watch(job, claim, process))
        self._watches.add(watch)
        watch.add_done_callback(self._watches.discard)

    async def close(self, *, within_s: float = 10.0) -> None:
        """Tells all to end, and kills those that have not after a while."""
        self._signal("terminate")
        if self._watches:
            await asyncio.wait(self._watches, timeout=within_s)
            self._signal("kill")
            await asyncio.gather(*self._watches)

    def _signal(self, how: str) -> None:
        for _, process in self._live.values():
            with contextlib.suppress(ProcessLookupError):
                getattr(process, how)()

    async def _watch(self, job: Job, claim: Claim, process: asyncio.subprocess.Process) -> None:
        try:
            async with asyncio.timeout(job.timeout_s + job.grace_s + STARTING_S):
                await process.wait()
        except TimeoutError:
            log.warning(
                "killed the process of run %d",
                claim.run,
                extra={"action": "job-kill", "job": claim.job, "run": claim.run},
            )
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        del self._live[claim.run]
        for call in self._ended:
            call()
