"""`workers queue`: the job queue on Redis or Valkey."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, TypeVar, get_args

import typer
from redis.exceptions import RedisError

from server.commands.queue_series import add_to
from server.engines import Engine, EngineAwayError, JobView, open_engine
from server.errors import RedisServerError, WorkersError
from server.redis_server import redis_client, redis_server
from server.redisq import InvalidJobError, NewJob, Queue, QueueError, audit
from server.redisq.model import Job, State
from server.redisq.queue import Operation, Setting
from server.settings import Settings
from server.terminal import DataDir, print_json, said_clearly, settings_for

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="The job queue on Redis or Valkey: put jobs in, run them, see them, mend them.\n\n"
    "Without REDIS_URL a Valkey of our own is used, and started for as long as it is needed.",
)

Result = TypeVar("Result")
Name = Annotated[str | None, typer.Option("--queue", help="Which.", show_default="default")]
Ids = Annotated[list[str], typer.Argument(help="Ids of jobs.")]


@app.command()
def work(
    queue: Name = None,
    concurrency: Annotated[
        int | None, typer.Option(min=1, help="Jobs at a time.", show_default="4")
    ] = None,
    data_dir: DataDir = None,
    *,
    until_stdin_closes: Annotated[bool, typer.Option("--until-stdin-closes", hidden=True)] = False,
) -> None:
    """Run a worker until Ctrl-C. Any number of them can run beside each other.

    On SIGTERM and Ctrl-C it claims nothing more, lets what runs end for up to 20 s, and gives back
    the rest without counting an attempt. A second Ctrl-C gives it back at once.

    Without DATABASE_URL the task welcome_email waits for a worker that has one.

    \b
    Examples:
      workers queue work
      REDIS_URL=redis://localhost:6379/0 workers queue work --queue photos --concurrency 8
      WORKERS_QUEUE_ENGINE=bullmq workers queue work
    """
    from server.queue_work import work as run_worker

    with said_clearly(), _of_the_queue():
        settings = settings_for(data_dir=data_dir, queue_name=queue, queue_concurrency=concurrency)
        with redis_server(settings) as url:
            asyncio.run(run_worker(settings, url, until_stdin_closes=until_stdin_closes))


@app.command()
def enqueue(  # noqa: PLR0913, PLR0917 - an option each
    task: Annotated[str, typer.Argument(help="The task's name.")],
    payload: Annotated[str, typer.Argument(help="JSON.")] = "null",
    queue: Name = None,
    delay: Annotated[float, typer.Option(min=0, help="Seconds from now.")] = 0.0,
    priority: Annotated[int, typer.Option(help="A head start of so many minutes.")] = 0,
    key: Annotated[str | None, typer.Option(help="No second job beside one of this key.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Put a job in and print its id.

    \b
    Examples:
      workers queue enqueue square '{"x": 7}'
      workers queue enqueue sleep '{"seconds": 2}' --delay 60 --key nightly
    """
    try:
        value = json.loads(payload)
    except ValueError as error:
        raise typer.BadParameter(f"the payload is no JSON: {error}") from error
    job = NewJob(task=task, payload=value, delay_s=delay, priority=priority, unique=key)
    [id_] = _on(queue, data_dir, lambda q: q.enqueue_many([job]), lambda e: _listed(e.enqueue(job)))
    typer.echo(id_)


@app.command()
def depth(queue: Name = None, data_dir: DataDir = None) -> None:
    """Count what is where, as JSON.

    \b
    Examples:
      workers queue depth
      workers queue depth --queue photos | jq .ready
    """
    print_json(_on(queue, data_dir, _depth, lambda e: e.depth()))


@app.command("list")
def list_jobs(
    state: Annotated[str, typer.Argument(help="ready, scheduled, active, done or dead.")],
    queue: Name = None,
    start: Annotated[int, typer.Option(min=0, help="Skip so many.")] = 0,
    count: Annotated[int, typer.Option(min=1, max=1000, help="Show so many.")] = 20,
    data_dir: DataDir = None,
) -> None:
    """Print the ids of jobs in a state, one a line.

    \b
    Examples:
      workers queue list dead
      workers queue list dead --count 1000 | xargs workers queue retry
    """
    if state not in get_args(State):
        raise typer.BadParameter(f"a state is one of {', '.join(get_args(State))}")
    place: State = state  # type: ignore[assignment]
    for id_ in _on(queue, data_dir, lambda q: q.ids(place, start=start, count=count)):
        typer.echo(id_)


@app.command()
def show(
    id_: Annotated[str, typer.Argument(metavar="ID")],
    queue: Name = None,
    data_dir: DataDir = None,
) -> None:
    """Show a job and what has become of it, as JSON.

    \b
    Examples:
      workers queue show 01a22e6a-e340-76d6-a82a-b7f8d970f2ce
    """
    job: Job | JobView | None = _on(queue, data_dir, lambda q: q.get(id_), lambda e: e.get(id_))
    if job is None:
        typer.echo(f"workers: there is no job {id_} in this queue", err=True)
        raise typer.Exit(1)
    print_json(asdict(job))


def _operation(what: Operation, summary: str) -> None:
    def operate(ids: Ids, queue: Name = None, data_dir: DataDir = None) -> None:
        answers = _on(queue, data_dir, lambda q: q.operate(what, ids))
        for id_, answer in answers.items():
            typer.echo(f"{id_} {answer}")
        if any(answer not in {"ok", "asked"} for answer in answers.values()):
            raise typer.Exit(1)

    operate.__doc__ = f"{summary}\n\n\b\nExamples:\n  workers queue {what} ID ID"
    app.command(what)(operate)


_operation("retry", "Let done or dead jobs run again, with all their attempts.")
_operation("promote", "Make scheduled jobs due now.")
_operation("cancel", "End jobs that wait; ask running ones to stop.")
_operation("delete", "Forget jobs that do not run.")


@app.command()
def pause(queue: Name = None, data_dir: DataDir = None) -> None:
    """Let nothing more start, on any worker, until it is resumed.

    \b
    Examples:
      workers queue pause --queue photos
    """
    _on(queue, data_dir, lambda q: q.pause())


@app.command()
def resume(queue: Name = None, data_dir: DataDir = None) -> None:
    """End a pause.

    \b
    Examples:
      workers queue resume --queue photos
    """
    _on(queue, data_dir, lambda q: q.resume())


@app.command()
def limit(
    queue: Name = None,
    concurrency: Annotated[
        int | None, typer.Option(min=0, help="Jobs at a time on all workers; 0: no limit.")
    ] = None,
    rate: Annotated[
        str | None, typer.Option(help="COUNT/SECONDS, such as 10/1; 0: no limit.")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Limit a queue while it works.

    \b
    Examples:
      workers queue limit --concurrency 2
      workers queue limit --rate 100/60
      workers queue limit --rate 0
    """
    settings: dict[Setting, int | None] = {}
    if concurrency is not None:
        settings["concurrency"] = concurrency or None
    if rate is not None:
        settings |= _rate(rate)
    if not settings:
        raise typer.BadParameter("say --concurrency, --rate, or both")
    _on(queue, data_dir, lambda q: q.configure(settings))


@app.command("audit")
def audit_queue(queue: Name = None, data_dir: DataDir = None) -> None:
    """Check that each job is in exactly one place. Exits with 1 if one is not.

    \b
    Examples:
      workers queue audit
    """
    wrong = _on(queue, data_dir, lambda q: audit(q.client, q.base))
    print_json({"wrong": wrong})
    if wrong:
        raise typer.Exit(1)


def _rate(text: str) -> dict[Setting, int | None]:
    if text == "0":
        return {"rate_count": None, "rate_ms": None}
    count, _, seconds = text.partition("/")
    try:
        return {"rate_count": int(count), "rate_ms": round(float(seconds) * 1000)}
    except ValueError as error:
        raise typer.BadParameter("a rate looks like 10/1: ten in one second") from error


def _on(
    name: str | None,
    data_dir: Path | None,
    act: Callable[[Queue], Awaitable[Result]],
    otherwise: Callable[[Engine], Awaitable[Result]] | None = None,
) -> Result:
    """What `act` returns, given our queue; of another engine what `otherwise` does.

    Raises WorkersError where there is another engine and nothing that could be done with it.
    """
    with said_clearly(), _of_the_queue():
        settings = settings_for(data_dir=data_dir, queue_name=name, quiet=True)
        if settings.queue_engine != "redisq" and otherwise is None:
            raise WorkersError(
                f"the engine is {settings.queue_engine}, and this command is for our own queue",
                hint="Unset WORKERS_QUEUE_ENGINE, or use a tool of that engine.",
            )
        with redis_server(settings) as url:
            return asyncio.run(_run(settings, url, act, otherwise))


@contextmanager
def _of_the_queue() -> Iterator[None]:
    """Says what can go wrong with this queue as every command says what goes wrong."""
    try:
        yield
    except (RedisError, EngineAwayError) as error:
        raise RedisServerError(f"the Redis server is away: {error}") from error
    except QueueError as error:
        code = 2 if isinstance(error, InvalidJobError) else 1
        raise WorkersError(str(error), exit_code=code) from error


async def _run(
    settings: Settings,
    url: str,
    act: Callable[[Queue], Awaitable[Result]],
    otherwise: Callable[[Engine], Awaitable[Result]] | None,
) -> Result:
    async with redis_client(url) as client:
        if settings.queue_engine == "redisq" or otherwise is None:
            return await act(Queue(client, settings.queue_name))
    async with open_engine(settings, url) as engine:
        return await otherwise(engine)


async def _depth(queue: Queue) -> Mapping[str, int | bool | None]:
    return asdict(await queue.depth())


async def _listed(id_: Awaitable[str]) -> list[str]:
    return [await id_]


add_to(app, _on)
