"""Carries a run that was begun to its end: lease, time-out, cancellation, and what came of it."""

from __future__ import annotations

import asyncio
import logging
import resource
import sys
from dataclasses import replace

import psycopg

from server.jobs import store
from server.jobs.errors import JobFailedError, LeaseLostError
from server.jobs.model import Ended, Outcome
from server.jobs.registry import Job
from server.jobs.running import Running
from server.outbox.policy import growing_pause

log = logging.getLogger(__name__)

LEASE_S = 20.0
"""How long a run is believed to go on without a word from it."""

BEAT_S = 2.0
"""How often a run renews its lease, and hears whether somebody wants it cancelled."""

LONGEST_ERROR = 2000


async def carry(
    job: Job,
    running: Running,
    *,
    lease_s: float = LEASE_S,
    beat_s: float = BEAT_S,
    own_process: bool = False,
) -> Outcome:
    """Runs the job and writes down how it ended; returns that.

    Once the lease is lost nothing is written, and the answer is Outcome.LOST. `own_process` says
    that what this process has used it has used for this run.
    """
    carried = _Carried(job, running, lease_s, beat_s)
    ended = await carried.to_the_end()
    if own_process:
        used = resource.getrusage(resource.RUSAGE_SELF)
        peak = used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        ended = replace(ended, cpu_s=used.ru_utime + used.ru_stime, memory_bytes=peak)
    outcome = ended.outcome
    if outcome is not Outcome.LOST and not await _write(running, ended, lease_s):
        outcome = Outcome.LOST
    log.log(
        logging.INFO if outcome is Outcome.SUCCEEDED else logging.WARNING,
        "%s: run %d %s",
        job.name,
        running.claim.run,
        outcome,
        extra={
            "action": "job-end",
            "job": job.name,
            "run": running.claim.run,
            "fence": running.claim.fence,
            "outcome": outcome.value,
            "error": ended.error,
        },
    )
    return outcome


class _Carried:
    def __init__(self, job: Job, running: Running, lease_s: float, beat_s: float) -> None:
        self._job = job
        self._running = running
        self._lease_s = lease_s
        self._beat_s = beat_s

    async def to_the_end(self) -> Ended:
        """How it ended. What ends it early wins over what the job says after that."""
        act = asyncio.create_task(_act(self._job, self._running))
        beat = asyncio.create_task(self._keep_lease())
        told = asyncio.create_task(self._running.stop.wait())
        try:
            done, _ = await asyncio.wait(
                {act, beat, told},
                timeout=self._job.timeout_s,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if act in done:
                return _result(act)
            early = self._why(beat, told)
            self._running.stop.set()
            if early.outcome is not Outcome.LOST:
                # It has some time to end in good order, and the lease is kept meanwhile.
                await asyncio.wait({act}, timeout=self._job.grace_s)
                if act.done():
                    return replace(early, report=_result(act).report)
            return early
        finally:
            for task in (act, beat, told):
                task.cancel()
            await asyncio.gather(act, beat, told, return_exceptions=True)

    def _why(self, beat: asyncio.Task[Ended], told: asyncio.Task[bool]) -> Ended:
        if beat.done():
            return beat.result()
        if told.done():
            return Ended(Outcome.CANCELLED, "the process that ran it was stopped")
        return Ended(Outcome.TIMED_OUT, f"it took longer than {self._job.timeout_s:g} s")

    async def _keep_lease(self) -> Ended:
        """Renews the lease until it is lost, or somebody wants the run cancelled: says which.

        A database that is away is asked again, for as long as the lease can last. What
        is left of the lease when somebody has asked for the end covers the time to end in.
        """
        clock = asyncio.get_running_loop().time
        claim, running = self._running.claim, self._running
        ends = clock() + self._lease_s
        failures = 0
        while True:
            asked = clock()
            try:
                async with asyncio.timeout(max(0.0, ends - asked)), running.connect() as connection:
                    held, cancelled_by = await store.extend(
                        connection, claim.run, claim.fence, lease_s=self._lease_s
                    )
            except (psycopg.OperationalError, TimeoutError) as error:
                failures += 1
                log.warning(
                    "could not renew the lease of run %d: %s",
                    claim.run,
                    error,
                    extra={"action": "job-lease-failed", "run": claim.run},
                )
                if clock() >= ends:
                    return Ended(Outcome.LOST)
                pause = growing_pause(failures, first_s=self._beat_s / 4, most_s=self._beat_s)
                await asyncio.sleep(pause)
                continue
            if not held:
                return Ended(Outcome.LOST)
            if cancelled_by is not None:
                return Ended(Outcome.CANCELLED, f"cancelled by {cancelled_by}")
            failures = 0
            ends = asked + self._lease_s
            await asyncio.sleep(self._beat_s)


def _result(act: asyncio.Task[Ended]) -> Ended:
    return (
        Ended(Outcome.FAILED, "it was cancelled from within") if act.cancelled() else act.result()
    )


async def _act(job: Job, running: Running) -> Ended:
    try:
        report = await job.act(running)
    except JobFailedError as error:
        return Ended(Outcome.FAILED, str(error)[:LONGEST_ERROR])
    except LeaseLostError:
        return Ended(Outcome.LOST)
    except Exception as error:
        log.exception("%s failed", job.name, extra={"action": "job-failed", "job": job.name})
        words = f"{type(error).__name__}: {error}"[:LONGEST_ERROR]
        return Ended(Outcome.FAILED, words.replace("\0", ""))
    return Ended(Outcome.SUCCEEDED, report=dict(report))


async def _write(running: Running, ended: Ended, within_s: float) -> bool:
    """Writes it down; False if the run was lost before. Asks again while the lease can last."""
    claim = running.claim
    clock = asyncio.get_running_loop().time
    ends = clock() + within_s
    failures = 0
    while True:
        try:
            async with running.connect() as connection:
                if await store.finish(connection, claim.run, claim.fence, ended):
                    return True
                # Perhaps it was written, and only the reply was lost.
                [run] = await store.history(connection, run=claim.run, limit=1)
                written = run.outcome is ended.outcome
        except psycopg.OperationalError as error:
            failures += 1
            log.warning(
                "could not write down the end of run %d: %s",
                claim.run,
                error,
                extra={"action": "job-lease-failed", "run": claim.run},
            )
            written = False
            if clock() < ends:
                await asyncio.sleep(growing_pause(failures, first_s=0.2, most_s=2.0))
                continue
        if not written:
            log.warning(
                "run %d of %s had lost its lease; what it says is refused",
                claim.run,
                claim.job,
                extra={"action": "job-refused", "run": claim.run, "fence": claim.fence},
            )
        return written
