"""The jobs of one server: what it knows of them, wakes, starts and ends."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from server.jobs import store
from server.jobs.built_in import jobs
from server.jobs.carrying import LEASE_S
from server.jobs.cost import Used, asked_by_workers, used_by, workers_here
from server.jobs.errors import BusyError
from server.jobs.launching import JobProcess, Launcher
from server.jobs.model import Claim, Ended, Outcome, Waker
from server.jobs.registry import Job
from server.jobs.scheduler import Scheduler
from server.jobs.store import Connection
from server.outbox import Connect, new_holder
from server.settings import Settings
from server.single_flight import SingleFlight

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Cost:
    """The processes that exist because a job runs, and those that do because a worker waits.

    And how often either side has asked the database something so far.
    """

    jobs: Sequence[tuple[JobProcess, Used]]
    workers: Sequence[Used]
    asked_by_jobs: int
    asked_by_workers: int


class JobService:
    """The registry, the processes that exist, and the task that wakes jobs, if this server does."""

    def __init__(self, settings: Settings, conninfo: str, connect: Connect) -> None:
        self.registry = jobs(settings)
        self.launcher = Launcher(conninfo)
        self.holder = new_holder()
        self.scheduler = Scheduler(self.registry, connect, self._begin, lease_s=LEASE_S)
        self.launcher.when_one_ends(self.scheduler.look_again)
        self.waking = False
        self.cost = SingleFlight(self._measure)
        """What it costs now; however many ask, one look at a time answers them."""
        self._connect = connect

    @contextlib.asynccontextmanager
    async def wakes(self) -> AsyncIterator[None]:
        """Has jobs woken when they are due, for as long as the context lasts."""
        stop = asyncio.Event()
        task = asyncio.create_task(self.scheduler.run(stop))
        task.add_done_callback(self._ended)
        self.waking = True
        try:
            yield
        finally:
            stop.set()
            await asyncio.wait({task})

    async def wake(self, connection: Connection, name: str, waker: Waker, by: str) -> Claim:
        """Begins a run because somebody wants it. Raises UnknownJobError and BusyError."""
        job = self.registry[name]
        await store.register(connection, [name])
        claim = await self._begin(connection, job, waker, by)
        if claim is None:
            state = (await store.states(connection, [name]))[name]
            raise BusyError(name, state.run)
        return claim

    def _ended(self, task: asyncio.Task[None]) -> None:
        self.waking = False
        if (error := task.exception()) is not None:
            log.error(
                "jobs are not woken any more", exc_info=error, extra={"action": "jobs-broken"}
            )

    async def _measure(self) -> Cost:
        live = self.launcher.live
        async with self._connect() as connection:
            waiting = await workers_here(connection)
            asked = await asked_by_workers(connection)
        used = {one.pid: one for one in await used_by([*(one.pid for one in live), *waiting])}
        return Cost(
            jobs=[(one, used[one.pid]) for one in live if one.pid in used],
            workers=[used[pid] for pid in waiting if pid in used],
            asked_by_jobs=self.scheduler.statements,
            asked_by_workers=asked,
        )

    async def close(self) -> None:
        """Ends the processes that are left."""
        await self.launcher.close()

    async def _begin(
        self,
        connection: Connection,
        job: Job,
        waker: Waker,
        by: str,
        tick: datetime | None = None,
    ) -> Claim | None:
        claim = await store.begin(
            connection,
            job.name,
            waker=waker,
            woken_by=by,
            holder=self.holder,
            lease_s=LEASE_S,
            scheduled_for=tick,
        )
        if claim is None:
            return None
        try:
            await self.launcher.launch(job, claim)
        except OSError as error:
            log.exception("no process for %s", job.name, extra={"action": "job-failed"})
            failed = Ended(Outcome.FAILED, f"no process could be started: {error}")
            await store.finish(connection, claim.run, claim.fence, failed)
        return claim
