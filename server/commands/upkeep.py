"""`workers purge` and `migrate`: what the tables need from time to time."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Annotated

import typer

from server import outbox
from server.commands.exits import STILL_DUE
from server.database import bring_up_to_date, database, one_connection
from server.outbox import Phase, Purged, Retention
from server.terminal import DataDir, print_json, said_clearly, settings_for


@said_clearly()
def purge(
    max_seconds: Annotated[
        float | None, typer.Option(min=0, help="Begin no batch after this.")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Delete what has ended long ago, and report as JSON. Workers and drains do so by themselves.

    Sent deliveries are kept for WORKERS_KEEP_SENT_DAYS (14), failed and dead ones for
    WORKERS_KEEP_ENDED_DAYS (90). They go in batches of 1,000, the oldest first, beside any work.

    \b
    Exit codes: 0 all of it was deleted, 3 time ran out first, 1 the database is away.

    \b
    Examples:
      workers purge
      WORKERS_KEEP_SENT_DAYS=1 workers purge --max-seconds 60
    """
    settings = settings_for(data_dir=data_dir, quiet=True)
    with database(settings) as conninfo:
        done = asyncio.run(_purge(conninfo, settings.retention(), max_seconds))
    print_json(asdict(done))
    if not done.finished:
        raise typer.Exit(STILL_DUE)


@said_clearly()
def migrate(
    phase: Annotated[
        Phase, typer.Option(help="What to apply: all, or only what older code can run with.")
    ] = Phase.ALL,
    data_dir: DataDir = None,
) -> None:
    """Bring the database's schema up to date.

    The other commands apply by themselves what is safe while older code still runs. What has to
    wait until no older code runs is applied only by this command.

    \b
    Examples:
      workers migrate --phase before       # before a deployment, beside the running version
      workers migrate                      # after it
      DATABASE_URL=postgresql:///mine workers migrate
    """
    from server.jobs.statements import migrate_jobs

    settings = settings_for(data_dir=data_dir, quiet=True)
    with database(settings) as conninfo:
        applied = asyncio.run(bring_up_to_date(conninfo, phase, migrate_jobs))
    typer.echo("\n".join(f"applied {name}" for name in applied) or "nothing to do")


async def _purge(conninfo: str, retention: Retention, max_s: float | None) -> Purged:
    await bring_up_to_date(conninfo)
    async with await one_connection(conninfo) as connection:
        return await outbox.purge(connection, retention, max_s=max_s)
