"""The jobs' statements. Each is one round trip, and needs nothing of a session."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import class_row, dict_row
from psycopg.types.json import Jsonb

from server.jobs.model import Claim, Ended, JobState, Outcome, Run, Waker
from server.jobs.statements import statement

Connection = AsyncConnection[Any]


async def register(connection: Connection, names: Sequence[str]) -> None:
    """Makes jobs known to the database; those that are known stay as they are."""
    await connection.execute(statement("register"), {"names": list(names)})


async def states(connection: Connection, names: Sequence[str]) -> dict[str, JobState]:
    """What is known of these jobs; a name that was never registered is missing."""
    async with connection.cursor(row_factory=class_row(JobState)) as cursor:
        await cursor.execute(statement("states"), {"names": list(names)})
        return {state.job: state for state in await cursor.fetchall()}


async def begin(  # noqa: PLR0913 - all of it is written down
    connection: Connection,
    job: str,
    *,
    waker: Waker,
    woken_by: str,
    holder: str,
    lease_s: float,
    scheduled_for: datetime | None = None,
) -> Claim | None:
    """Begins a run; None if one goes on, or if its tick is not due or was dealt with."""
    async with connection.cursor(row_factory=class_row(Claim)) as cursor:
        await cursor.execute(
            statement("begin"),
            {
                "job": job,
                "waker": waker.value,
                "woken_by": woken_by,
                "holder": holder,
                "lease_s": lease_s,
                "scheduled_for": scheduled_for,
            },
        )
        return await cursor.fetchone()


async def extend(
    connection: Connection, run: int, fence: int, *, lease_s: float
) -> tuple[bool, str | None]:
    """Renews the lease; returns whether it was still held, and who wants the run cancelled."""
    cursor = await connection.execute(
        statement("extend"), {"run": run, "fence": fence, "lease_s": lease_s}
    )
    row = await cursor.fetchone()
    return (False, None) if row is None else (True, row[0])


async def finish(connection: Connection, run: int, fence: int, ended: Ended) -> bool:
    """Writes down how a run ended; False: it was lost before, and nothing was written."""
    cursor = await connection.execute(
        statement("finish"),
        {
            "run": run,
            "fence": fence,
            "outcome": ended.outcome.value,
            "error": ended.error,
            "report": None if ended.report is None else Jsonb(ended.report),
            "cpu_s": ended.cpu_s,
            "memory_bytes": ended.memory_bytes,
        },
    )
    return await cursor.fetchone() is not None


async def pass_over(connection: Connection, job: str, *, until: datetime) -> bool:
    """Notes that missed ticks are not run; whether it was this call that did."""
    cursor = await connection.execute(statement("pass_over"), {"job": job, "until": until})
    return await cursor.fetchone() is not None


async def cancel(connection: Connection, job: str, run: int, *, by: str) -> bool:
    """Asks a run to end; False if it does not run."""
    cursor = await connection.execute(statement("cancel"), {"job": job, "run": run, "by": by})
    return await cursor.fetchone() is not None


async def history(
    connection: Connection,
    *,
    job: str | None = None,
    run: int | None = None,
    before: int | None = None,
    limit: int = 25,
) -> list[Run]:
    """Runs, the latest first: of a job, before the run of a number, or the one of a number."""
    return await _runs(
        connection, "history", {"job": job, "run": run, "before": before, "limit": limit}
    )


async def latest(connection: Connection, names: Sequence[str]) -> dict[str, Run]:
    """The latest run of each of these jobs that has one."""
    return {run.job: run for run in await _runs(connection, "latest", {"names": list(names)})}


async def forget(connection: Connection, *, keep_s: float, limit: int = 1000) -> int:
    """Deletes runs that ended longer ago; of each job the last hundred stay. Returns how many."""
    cursor = await connection.execute(statement("forget"), {"keep_s": keep_s, "limit": limit})
    return cursor.rowcount


async def _runs(connection: Connection, name: str, parameters: dict[str, Any]) -> list[Run]:
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(statement(name), parameters)
        return [
            Run(**{**row, "waker": Waker(row["waker"]), "outcome": Outcome(row["outcome"])})
            for row in await cursor.fetchall()
        ]
