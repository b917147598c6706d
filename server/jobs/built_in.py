"""The jobs of this project, and what wakes them unless somebody says otherwise."""

from __future__ import annotations

from dataclasses import asdict

from server import outbox
from server.database import one_connection
from server.jobs import store
from server.jobs.cron import Cron
from server.jobs.errors import JobFailedError
from server.jobs.registry import Job, Registry, Report
from server.jobs.running import Running
from server.jobs.schedule import SKIP, Every
from server.outbox.policy import DAY_S
from server.settings import Settings

DRAIN_S = 50.0
"""How long a drain sends, so that it has ended before the next minute."""

PURGE_S = 240.0
RUNS_KEPT_S = 30 * DAY_S
REAP_BATCH = 200


def jobs(settings: Settings) -> Registry:
    """All jobs, each under the name by which it is woken."""
    zone = settings.jobs_zone
    drained = (Cron("* * * * *", zone),) if settings.jobs_drain else ()
    return Registry(
        [
            Job(
                "drain",
                "delivers what is due in the outbox, and ends when nothing is",
                _drain,
                drained,
                timeout_s=DRAIN_S + 60.0,
                grace_s=10.0,
            ),
            Job(
                "reap",
                "gives back deliveries whose worker has vanished",
                _reap,
                (Every(900.0),),
                timeout_s=60.0,
                catch_up=SKIP,
            ),
            Job(
                "purge",
                "deletes what ended long ago: deliveries, and runs of jobs",
                _purge,
                (Cron("17 2 * * *", zone),),
            ),
            Job(
                "depth-history",
                "notes how deep the queue is",
                _sample_depth,
                (Cron("*/10 * * * *", zone),),
                timeout_s=30.0,
                # A minute that is over can't be looked at any more.
                catch_up=SKIP,
            ),
            Job(
                "verify-depth",
                "counts every delivery and holds the depth against it",
                _verify_depth,
                (Cron("47 2 * * *", zone),),
            ),
        ]
    )


async def _drain(running: Running) -> Report:
    # It brings the channels with it, which most jobs have no use for.
    from server.work import drain_until  # noqa: PLC0415

    report = await drain_until(running.settings, running.conninfo, running.stop, max_s=DRAIN_S)
    return {
        "finished": report.finished,
        "sent": report.done.sent,
        "retried": report.done.retried,
        "failed": report.done.failed,
        "dead": report.done.dead,
        "left_due": report.left.due,
    }


async def _reap(running: Running) -> Report:
    reaped = 0
    while not running.stop.is_set():
        async with running.connect() as connection:
            back = await outbox.reap(connection, limit=REAP_BATCH)
        reaped += len(back)
        if len(back) < REAP_BATCH:
            break
    return {"reaped": reaped}


async def _purge(running: Running) -> Report:
    async with running.connect() as connection:
        done = await outbox.purge(connection, running.settings.retention(), max_s=PURGE_S)
        runs = await store.forget(connection, keep_s=RUNS_KEPT_S)
    return {**asdict(done), "runs": runs}


async def _sample_depth(running: Running) -> Report:
    async with running.fenced() as connection:
        return {"sampled": await outbox.sample_depth(connection)}


async def _verify_depth(running: Running) -> Report:
    # A count takes as long as the table is large; the job's time-out bounds it.
    async with await one_connection(running.conninfo) as connection:
        wrong = await outbox.depth_differences(connection)
    if wrong:
        raise JobFailedError(
            "; ".join(
                f"{status}: the depth says {a}, a count {b}" for status, (a, b) in wrong.items()
            )
        )
    return {"differences": 0}
