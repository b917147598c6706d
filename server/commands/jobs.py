"""`workers jobs`: which there are, run one, see what became of its runs, cancel one."""

from __future__ import annotations

import asyncio
import getpass
import socket
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import Annotated, Any, TypeVar

import typer
from psycopg import AsyncConnection

from server.commands.exits import BUSY, STILL_DUE
from server.database import bring_up_to_date, database, one_connection
from server.errors import WorkersError
from server.jobs import store
from server.jobs.built_in import jobs
from server.jobs.errors import UnknownJobError
from server.jobs.model import Outcome, Run, Waker
from server.jobs.registry import Job
from server.jobs.schedule import next_due
from server.jobs.statements import migrate_jobs
from server.settings import Settings
from server.terminal import DataDir, print_json, print_table, said_clearly, settings_for

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Jobs: named work that something wakes up, and that costs nothing between its runs.",
)

Result = TypeVar("Result")
Name = Annotated[str, typer.Argument(metavar="NAME", help="A job, as 'workers jobs list' says.")]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]
LARGEST_ID = (1 << 63) - 1


@app.command("list")
@said_clearly()
def list_jobs(*, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """List the jobs: what wakes each, when that is next, and how its latest run ended.

    What a server wakes follows that server's settings; these are the ones of this command.

    \b
    Examples:
      workers jobs list
      workers jobs list --json | jq '.[] | select(.last_run.outcome == "failed")'
      WORKERS_JOBS_ZONE=Europe/Vienna workers jobs list
    """
    settings = settings_for(data_dir=data_dir, quiet=True)
    registry = jobs(settings)
    now, latest = _on(settings, partial(_latest, names=registry.names))
    if as_json:
        print_json([_document(job, now, latest.get(job.name)) for job in registry])
        return
    print_table(
        dict.fromkeys(("job", "does", "woken", "next", "latest run"), "left"),
        [
            (
                job.name,
                job.does,
                ", ".join(map(str, job.triggers)) or "on demand",
                _moment(next_due(job.triggers, now)),
                _last(latest.get(job.name)),
            )
            for job in registry
        ],
    )


@app.command()
@said_clearly()
def run(
    name: Name,
    *,
    tick: Annotated[
        bool, typer.Option("--tick", help="For this minute: of all machines, only one runs.")
    ] = False,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Run a job here, in this process, and end with it. For a terminal, or a real cron.

    Two runs of one job never overlap, on however many machines. Ctrl-C ends it in good order.

    \b
    Exit codes: 0 it succeeded, 1 it failed, 3 its time ran out first, 4 it runs already, or with
    --tick: this minute has had its run.

    \b
    Examples:
      workers jobs run purge
      workers jobs run verify-depth --json | jq .report
      17 2 * * *  workers jobs run purge --tick      # in the crontab of each of three machines
    """
    from server.jobs.here import run_here

    settings = settings_for(data_dir=data_dir, quiet=True)
    job = _job(settings, name)
    with database(settings) as conninfo:
        ended = asyncio.run(run_here(settings, conninfo, job, Waker.COMMAND, _me(), tick=tick))
    if ended is None:
        raise WorkersError(
            f"{name} runs already" + (", or has run for this minute" if tick else ""),
            hint=f"See 'workers jobs history {name}'.",
            exit_code=BUSY,
        )
    if as_json:
        print_json(asdict(ended))
    else:
        _print([ended])
    if ended.outcome is Outcome.TIMED_OUT:
        raise typer.Exit(STILL_DUE)
    if ended.outcome is not Outcome.SUCCEEDED:
        raise typer.Exit(1)


@app.command()
@said_clearly()
def history(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Of this job only.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most so many.")] = 25,
    before: Annotated[int | None, typer.Option(min=1, help="Before the run of a number.")] = None,
    *,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Show runs, the latest first: who or what woke it, for which tick, what came of it.

    \b
    Examples:
      workers jobs history
      workers jobs history drain --limit 100
      workers jobs history purge --json | jq '.[0].report'
    """
    settings = settings_for(data_dir=data_dir, quiet=True)
    if name is not None:
        _job(settings, name)
    wanted = partial(store.history, job=name, before=before, limit=limit)
    runs = _on(settings, wanted)
    if as_json:
        print_json([asdict(one) for one in runs])
    else:
        _print(runs)


@app.command()
@said_clearly()
def cancel(
    number: Annotated[int, typer.Argument(metavar="RUN", min=1, max=LARGEST_ID)],
    data_dir: DataDir = None,
) -> None:
    """Ask a run to end, on whichever machine it runs. It hears of it within seconds.

    \b
    Exit codes: 0, or 1 if there is no such run, or if it has ended.

    \b
    Examples:
      workers jobs cancel 42
    """
    settings = settings_for(data_dir=data_dir, quiet=True)
    _on(settings, partial(_cancel, number=number))


async def _latest(
    connection: AsyncConnection[Any], *, names: list[str]
) -> tuple[datetime, dict[str, Run]]:
    await store.register(connection, names)
    states = await store.states(connection, names)
    return states[names[0]].now, await store.latest(connection, names)


async def _cancel(connection: AsyncConnection[Any], *, number: int) -> None:
    found = await store.history(connection, run=number, limit=1)
    if not found:
        raise WorkersError(f"there is no run {number}")
    if not await store.cancel(connection, found[0].job, number, by=_me()):
        raise WorkersError(f"run {number} is {found[0].outcome}; only one that runs can end")


def _job(settings: Settings, name: str) -> Job:
    try:
        return jobs(settings)[name]
    except UnknownJobError as error:
        hint = f"There are: {', '.join(jobs(settings).names)}."
        raise WorkersError(str(error), hint=hint, exit_code=2) from error


def _on(settings: Settings, act: Callable[[AsyncConnection[Any]], Awaitable[Result]]) -> Result:
    """What `act` returns, over one connection to a database that knows jobs."""
    with database(settings) as conninfo:
        return asyncio.run(_run(conninfo, act))


async def _run(conninfo: str, act: Callable[[AsyncConnection[Any]], Awaitable[Result]]) -> Result:
    await bring_up_to_date(conninfo, by=migrate_jobs)
    async with await one_connection(conninfo) as connection:
        return await act(connection)


def _me() -> str:
    return f"{getpass.getuser()}@{socket.gethostname()}"


def _document(job: Job, now: datetime, last: Run | None) -> dict[str, Any]:
    return {
        "name": job.name,
        "does": job.does,
        "triggers": [str(trigger) for trigger in job.triggers],
        "next_due_at": next_due(job.triggers, now),
        "timeout_s": job.timeout_s,
        "catch_up": str(job.catch_up),
        "last_run": None if last is None else asdict(last),
    }


def _print(runs: list[Run]) -> None:
    titles = ("run", "job", "woken by", "for", "started", "took", "outcome", "what it said")
    print_table(dict.fromkeys(titles, "left"), map(_row, runs))


def _row(one: Run) -> list[str]:
    report = ", ".join(f"{name} {value}" for name, value in (one.report or {}).items())
    return [
        str(one.id),
        one.job,
        f"{one.waker}: {one.woken_by}",
        _moment(one.scheduled_for),
        _moment(one.started_at),
        "" if one.took_s is None else f"{one.took_s:.1f} s",
        one.outcome.value,
        one.error or report,
    ]


def _last(run: Run | None) -> str:
    return "" if run is None else f"{run.outcome} at {_moment(run.started_at)}"


def _moment(at: datetime | None) -> str:
    return "" if at is None else f"{at:%Y-%m-%d %H:%M:%S %Z}"
