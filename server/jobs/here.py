"""Runs a job in this process, from its claim to its end."""

from __future__ import annotations

from server.database import bring_up_to_date, open_pool
from server.jobs import store
from server.jobs.carrying import LEASE_S, carry
from server.jobs.model import Run, Waker
from server.jobs.registry import Job
from server.jobs.running import Running
from server.jobs.statements import migrate_jobs
from server.outbox import new_holder
from server.settings import Settings
from server.signals import stop_on_signal


async def run_here(  # noqa: PLR0913 - who wakes what for which tick
    settings: Settings, conninfo: str, job: Job, waker: Waker, woken_by: str, *, tick: bool = False
) -> Run | None:
    """Runs it and returns what was written down; None if it runs already.

    With `tick` it is for this minute, and None as well if that has had its run.
    """
    await bring_up_to_date(conninfo, by=migrate_jobs)
    async with open_pool(conninfo, most=2) as pool, stop_on_signal() as stop:
        async with pool.connection() as connection:
            await store.register(connection, [job.name])
            now = (await store.states(connection, [job.name]))[job.name].now
            claim = await store.begin(
                connection,
                job.name,
                waker=waker,
                woken_by=woken_by,
                holder=new_holder(),
                lease_s=LEASE_S,
                scheduled_for=now.replace(second=0, microsecond=0) if tick else None,
            )
        if claim is None:
            return None
        running = Running(claim, pool.connection, conninfo, settings, stop)
        await carry(job, running, own_process=True)
        async with pool.connection() as connection:
            [ended] = await store.history(connection, run=claim.run, limit=1)
    return ended
