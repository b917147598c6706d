"""`workers serve`, `work` and `drain`: what runs, for ever or until nothing is due."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from server.commands.exits import STILL_DUE
from server.database import database
from server.terminal import DataDir, print_json, said_clearly, settings_for


@said_clearly()
def serve(  # noqa: PLR0913 - an option each
    host: Annotated[
        str | None, typer.Option(help="Address to listen on.", show_default="127.0.0.1")
    ] = None,
    port: Annotated[int | None, typer.Option(help="Port; 0: any.", show_default="8000")] = None,
    site: Annotated[Path | None, typer.Option(help="The built site.", show_default="site")] = None,
    data_dir: DataDir = None,
    *,
    worker: Annotated[bool, typer.Option(help="Run workers beside the server.")] = True,
    queue: Annotated[bool, typer.Option(help="Have a queue of jobs on Redis or Valkey.")] = True,
) -> None:
    """Serve the page and the API, with the database, the queue of jobs and a worker for each.

    Ctrl-C stops all of it. A second Ctrl-C does not wait for sends that are under way.

    \b
    Examples:
      workers serve
      workers serve --port 8001
      workers serve --no-worker            # the outbox is drained by 'workers drain'
      workers serve --no-queue             # neither a Valkey nor jobs on it
      WORKERS_TIME_SCALE=0.1 workers serve # a lease of 30 s, retries after 3 s, 12 s, …
      DATABASE_URL=postgresql:///mine workers serve
    """
    from server.serve import serve as run_server

    settings = settings_for(host=host, port=port, site=site, data_dir=data_dir)
    run_server(settings, with_worker=worker, with_queue=queue)


@said_clearly()
def work(
    data_dir: DataDir = None,
    *,
    until_stdin_closes: Annotated[bool, typer.Option("--until-stdin-closes", hidden=True)] = False,
) -> None:
    """Run a queue worker until Ctrl-C. Any number of them can run beside each other.

    On SIGTERM and Ctrl-C it claims nothing more, hands back what it has not started, finishes
    what it has, and ends.

    \b
    Examples:
      workers work
      WORKERS_CONCURRENCY=25 workers work
    """
    from server.work import work as run_worker

    settings = settings_for(data_dir=data_dir)
    with database(settings) as conninfo:
        asyncio.run(run_worker(settings, conninfo, until_stdin_closes=until_stdin_closes))


@said_clearly()
def drain(
    max_seconds: Annotated[
        float | None, typer.Option(min=0.001, help="Begin no send that might end after this.")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Deliver what is due, report as JSON, and end. For cron, or a platform without workers.

    Safe beside workers and other drains. It ends when nothing is due, or when the time is up:
    then it claims nothing more and finishes what it has begun. What falls due later and what
    others hold is not waited for; the report says how much that is, and when it is due.

    A channel whose send may take longer than the time that is left is left alone, and
    'too_short_for' in the report gives its seconds: with the defaults mail needs 37.5, a
    webhook 18.75, the page 10.

    \b
    Exit codes: 0 nothing was left due, 3 time ran out first, 1 the database is away.

    \b
    Examples:
      workers drain
      workers drain --max-seconds 50
      * * * * *  workers drain --max-seconds 50    # in a crontab
    """
    from server.work import drain_once

    settings = settings_for(data_dir=data_dir)
    with database(settings) as conninfo:
        report = asyncio.run(drain_once(settings, conninfo, max_s=max_seconds))
    print_json(asdict(report))
    for name, seconds in report.too_short_for.items():
        typer.echo(
            f"workers: {name}: left, since a send may take {seconds:g} s and less was left",
            err=True,
        )
    if not report.finished:
        raise typer.Exit(STILL_DUE)
