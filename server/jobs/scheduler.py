"""Wakes jobs when they are due: one task a server, which sleeps until the next tick.

Any number of servers may do so over one database. All of them wake up for a tick, the first to
begin its run has it, and the others see that. Between ticks nothing is asked of anybody.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from server.jobs import store
from server.jobs.cron import Cron
from server.jobs.model import Claim, JobState, Waker
from server.jobs.registry import Job, Registry
from server.jobs.schedule import decide, next_due
from server.jobs.store import Connection
from server.outbox import Connect
from server.outbox.connect import AWAY
from server.outbox.policy import growing_pause

log = logging.getLogger(__name__)

LONGEST_SLEEP = timedelta(hours=1)
"""The database's clock is asked so often at the least, in case it was set."""

Wake = Callable[[Connection, Job, Waker, str, datetime], Awaitable[Claim | None]]
"""Begins a run for a tick and sees to it that it is carried; None if others have it."""


class Scheduler:
    """Wakes the jobs that have triggers."""

    def __init__(self, jobs: Registry, connect: Connect, wake: Wake, *, lease_s: float) -> None:
        self._jobs = [job for job in jobs if job.triggers]
        self._names = jobs.names
        self._connect = connect
        self._wake = wake
        self._lease_s = lease_s
        self._look = asyncio.Event()
        self.statements = 0
        """How many statements it has sent so far."""

    def look_again(self) -> None:
        """Has it look at once whether something is due: a run has ended."""
        self._look.set()

    async def run(self, stop: asyncio.Event) -> None:
        """Wakes jobs until `stop` is set. A database that is away is asked again and again."""
        ending = asyncio.create_task(stop.wait())
        ending.add_done_callback(lambda _: self._look.set())
        registered = False
        failures = 0
        try:
            while not stop.is_set():
                self._look.clear()
                try:
                    async with self._connect() as connection:
                        if not registered:
                            self.statements += 1
                            await store.register(connection, self._names)
                            registered = True
                        pause_s = await self._turn(connection)
                    failures = 0
                except AWAY as error:
                    failures += 1
                    pause_s = growing_pause(failures, first_s=0.5, most_s=30.0)
                    log.warning("cannot wake jobs: %s", error, extra={"action": "database-away"})
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._look.wait(), pause_s)
        finally:
            ending.cancel()

    async def _turn(self, connection: Connection) -> float:
        """Begins what is due; returns how long there is nothing to do, in seconds."""
        clock = asyncio.get_running_loop().time
        asked = clock()
        self.statements += 1
        states = await store.states(connection, self._names)
        now = max((state.now for state in states.values()), default=None)
        if now is None:
            return LONGEST_SLEEP.total_seconds()
        wakes = [now + LONGEST_SLEEP]
        for job in self._jobs:
            if (state := states.get(job.name)) is not None:
                wakes += await self._look_at(connection, job, state)
        return max(0.0, (min(wakes) - now).total_seconds() - (clock() - asked))

    async def _look_at(self, connection: Connection, job: Job, state: JobState) -> list[datetime]:
        """Begins a run of the job if one is due; returns when to look again."""
        decision = decide(
            job.triggers, job.catch_up, decided_until=state.decided_until, now=state.now
        )
        due = next_due(job.triggers, state.now)
        wakes = [due] if due else []
        if not decision.ticks and decision.passed_over is None:
            return wakes
        if state.busy and state.lease_expires_at is not None:
            # What is due waits for the end of that run, of which we hear if it is ours, or of its
            # lease. What is missed by then is for the catch-up rule.
            return [*wakes, state.lease_expires_at]
        if decision.passed_over is not None:
            self.statements += 1
            if await store.pass_over(connection, job.name, until=decision.passed_over):
                log.warning(
                    "%s: missed ticks up to %s are not run",
                    job.name,
                    decision.passed_over,
                    extra={"action": "job-missed", "job": job.name},
                )
        if decision.ticks:
            await self._begin(connection, job, decision.ticks[0])
        if len(decision.ticks) > 1:
            # The next one after this one's end, of which we hear if it is ours.
            wakes.append(state.now + timedelta(seconds=self._lease_s))
        return wakes

    async def _begin(self, connection: Connection, job: Job, tick: datetime) -> None:
        before = tick - timedelta(microseconds=1)
        trigger = next(one for one in job.triggers if next_due([one], before) == tick)
        self.statements += 1
        await self._wake(
            connection,
            job,
            Waker.CRON if isinstance(trigger, Cron) else Waker.INTERVAL,
            str(trigger),
            tick,
        )
