"""The command `workers`."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from server import outbox
from server.api.queue_depth import QueueDepth
from server.commands import channels, deliveries, queue
from server.database import bring_up_to_date, database, one_connection
from server.errors import WorkersError
from server.outbox import Depth, NewDelivery, Phase, Purged, Retention, Status
from server.terminal import DataDir, print_json, said_clearly, settings_for

STILL_DUE = 3
"""Exit code of `drain` when its time ran out before the queue was empty."""

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="A page about workers, the queue behind it, and the tools for that queue.\n\n"
    "Settings come from WORKERS_* variables and DATABASE_URL (README). Without DATABASE_URL a "
    "PostgreSQL of our own is used, and started for as long as it is needed.",
)

app.add_typer(deliveries.app, name="deliveries")
app.add_typer(channels.app, name="channels")
app.add_typer(queue.app, name="queue")

LONGEST_DELAY_S = 366 * 24 * 3600.0
OPTIONS = {"payload": "--text", "count": "--count", "idempotency_key": "--key"}
"""Which option gives a field of a request."""


@app.command()
def serve(
    host: Annotated[
        str | None, typer.Option(help="Address to listen on.", show_default="127.0.0.1")
    ] = None,
    port: Annotated[int | None, typer.Option(help="Port; 0: any.", show_default="8000")] = None,
    site: Annotated[Path | None, typer.Option(help="The built site.", show_default="site")] = None,
    data_dir: DataDir = None,
    *,
    worker: Annotated[bool, typer.Option(help="Run a worker beside the server.")] = True,
) -> None:
    """Serve the page and the API, with the database and one worker beside it.

    Ctrl-C stops all of it. A second Ctrl-C does not wait for sends that are under way.

    \b
    Examples:
      workers serve
      workers serve --port 8001
      workers serve --no-worker            # the queue is drained by 'workers drain'
      WORKERS_TIME_SCALE=0.1 workers serve # a lease of 30 s, retries after 3 s, 12 s, …
      DATABASE_URL=postgresql:///mine workers serve
    """
    from server.serve import serve as run_server

    with said_clearly():
        run_server(
            settings_for(host=host, port=port, site=site, data_dir=data_dir), with_worker=worker
        )


@app.command()
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

    with said_clearly():
        settings = settings_for(data_dir=data_dir)
        with database(settings) as conninfo:
            asyncio.run(run_worker(settings, conninfo, until_stdin_closes=until_stdin_closes))


@app.command()
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

    \b
    Exit codes: 0 nothing was left due, 3 time ran out first, 1 the database is away.

    \b
    Examples:
      workers drain
      workers drain --max-seconds 50
      * * * * *  workers drain --max-seconds 50    # in a crontab
    """
    from server.work import drain_once

    with said_clearly():
        settings = settings_for(data_dir=data_dir)
        with database(settings) as conninfo:
            report = asyncio.run(drain_once(settings, conninfo, max_s=max_seconds))
        print_json(asdict(report))
        if not report.finished:
            raise typer.Exit(STILL_DUE)


@app.command()
def depth(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="What the API answers.")] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Count every row too, and compare.")
    ] = False,
    mend: Annotated[
        bool, typer.Option("--mend", help="Make it equal to a count; writers wait meanwhile.")
    ] = False,
    data_dir: DataDir = None,
) -> None:
    """Show how many deliveries there are in each state, exact at one instant.

    With --verify the rows are counted as well, in the same snapshot, at the cost of a scan. A
    difference is told on stderr. It can only come from a change with the triggers disabled, and
    --mend takes it away.

    \b
    Exit codes: 0, or 1 if --verify found a difference or the database is away.

    \b
    Examples:
      workers depth
      workers depth --json | jq .pending.due
      watch -n 1 workers depth
      workers depth --verify || workers depth --mend
    """
    with said_clearly():
        settings = settings_for(data_dir=data_dir, quiet=True)
        with database(settings) as conninfo:
            if mend:
                asyncio.run(_mend(conninfo))
            found, differences = asyncio.run(_read_depth(conninfo, verify=verify))
    document = QueueDepth.of(found).model_dump(mode="json")
    if as_json:
        print_json(document)
    else:
        _print_depth(document)
    for status, (said, counted) in differences.items():
        typer.echo(f"workers: {status}: the depth says {said}, a count {counted}", err=True)
    if differences:
        raise typer.Exit(1)


@app.command()
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
    with said_clearly():
        settings = settings_for(data_dir=data_dir, quiet=True)
        with database(settings) as conninfo:
            done = asyncio.run(_purge(conninfo, settings.retention(), max_seconds))
        print_json(asdict(done))
        if not done.finished:
            raise typer.Exit(STILL_DUE)


@app.command()
def enqueue(
    text: Annotated[str, typer.Option(help="What the page will show.")] = "Hello",
    count: Annotated[int, typer.Option(min=1, max=1000, help="How many deliveries.")] = 1,
    delay: Annotated[
        float, typer.Option(min=0, max=LONGEST_DELAY_S, help="Seconds until they are due.")
    ] = 0.0,
    key: Annotated[
        str | None, typer.Option(help="Idempotency key: the same command again adds nothing.")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Enqueue deliveries for the channel "page" and print their ids, one a line.

    \b
    Examples:
      workers enqueue --text "Good morning"
      workers enqueue --count 1000
      workers enqueue --text once --key order-17
    """
    with said_clearly():
        settings = settings_for(data_dir=data_dir, quiet=True)
        deliveries = _deliveries(text, count, key, delay)
        with database(settings) as conninfo:
            ids = asyncio.run(_enqueue(conninfo, deliveries, settings.max_attempts))
    typer.echo("\n".join(str(one) for one in ids))


@app.command()
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
    with said_clearly():
        settings = settings_for(data_dir=data_dir, quiet=True)
        with database(settings) as conninfo:
            applied = asyncio.run(bring_up_to_date(conninfo, phase))
    typer.echo("\n".join(f"applied {name}" for name in applied) or "nothing to do")


class Method(StrEnum):
    """How the colours are counted; both give the same numbers."""

    VECTORISED = "vectorised"
    LOOP = "loop"


@app.command()
def histogram(
    file: Annotated[Path, typer.Argument(help="An image, or - for standard input.")],
    max_side: Annotated[int, typer.Option(help="Longest side that is counted, in pixels.")] = 1024,
    method: Annotated[Method, typer.Option(help="How to count.")] = Method.VECTORISED,
    colours: Annotated[int, typer.Option(help="Colours of the palette.")] = 8,
) -> None:
    """Count the colours of an image, by the function that the page runs, and print the same JSON.

    An image that cannot be counted gives a JSON object with "error" and exit code 1.

    \b
    Examples:
      workers histogram photo.jpg
      workers histogram photo.png --method loop --max-side 256
      workers histogram - < photo.webp | jq .palette
    """
    import handlers

    with said_clearly():
        options = {"max_side": max_side, "method": method.value, "colours": colours}
        try:
            result = handlers.run("histogram", {"image": _read(file), **options})
        except handlers.errors.HandlerError as error:
            print_json(
                {"error": {"code": error.code, "message": error.message, "details": error.details}}
            )
            raise WorkersError(error.message) from error
        print_json(result)


def _read(file: Path) -> bytes:
    """The file's bytes; of a stream without end just enough to tell that it is too long.

    Raises TooManyBytesError if the file is past the limit, WorkersError if it cannot be read.
    """
    from handlers.limits import MAX_BYTES, check_bytes

    try:
        if str(file) == "-":
            return sys.stdin.buffer.read(MAX_BYTES + 1)
        check_bytes(file.stat().st_size)
        with file.open("rb") as opened:
            return opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise WorkersError(f"cannot read {file}: {error.strerror}") from error


def _deliveries(text: str, count: int, key: str | None, delay_s: float) -> list[NewDelivery]:
    """What the API would enqueue for this; raises WorkersError, which names the option."""
    from pydantic import ValidationError

    from server.api.delivery_request import DeliveryRequest

    given = {"payload": {"text": text}, "count": count, "idempotency_key": key}
    try:
        return DeliveryRequest.model_validate(given).deliveries(delay_s=delay_s)
    except ValidationError as error:
        faults = [f"{OPTIONS[str(one['loc'][0])]}: {one['msg']}" for one in error.errors()]
        raise WorkersError("; ".join(faults), exit_code=2) from error


async def _read_depth(
    conninfo: str, *, verify: bool
) -> tuple[Depth, dict[Status, tuple[int, int]]]:
    await bring_up_to_date(conninfo)
    async with await one_connection(conninfo) as connection:
        differences = await outbox.depth_differences(connection) if verify else {}
        return await outbox.depth(connection), differences


async def _mend(conninfo: str) -> None:
    await bring_up_to_date(conninfo)
    async with await one_connection(conninfo) as connection:
        await outbox.mend_depth(connection)


async def _purge(conninfo: str, retention: Retention, max_s: float | None) -> Purged:
    await bring_up_to_date(conninfo)
    async with await one_connection(conninfo) as connection:
        return await outbox.purge(connection, retention, max_s=max_s)


async def _enqueue(conninfo: str, deliveries: list[NewDelivery], max_attempts: int) -> list[int]:
    await bring_up_to_date(conninfo)
    async with await one_connection(conninfo, autocommit=False) as connection:
        return await outbox.enqueue(connection, deliveries, max_attempts=max_attempts)


def _print_depth(document: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{document['mode']}, workers: {document['workers']['live']}")
    table.add_column("state")
    table.add_column("deliveries", justify="right")
    pending = document["pending"]
    table.add_row("pending", str(pending["total"]))
    for part in ("due", "scheduled", "retrying"):
        table.add_row(f"  {part}", str(pending[part]))
    for state in ("processing", "sent", "failed", "dead"):
        table.add_row(state, str(document[state]))
    age = document["oldest_due_age_s"]
    table.add_row("oldest due for", "-" if age is None else f"{age:.1f} s")
    Console().print(table)
