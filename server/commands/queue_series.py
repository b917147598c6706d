"""`workers queue repeat`, `repeats`, `unrepeat`, `purge`, `keep`: series, and what is kept."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, TypeVar

import typer

from server.redisq import Queue
from server.redisq.queue import Setting
from server.terminal import DataDir, print_json

Result = TypeVar("Result")
Purgeable = Literal["ready", "scheduled", "done", "dead"]
Name = Annotated[str | None, typer.Option("--queue", help="Which.", show_default="default")]
Series = Annotated[str, typer.Argument(metavar="NAME", help="The series' name.")]


class On(Protocol):
    """Runs something on the queue of that name."""

    def __call__(
        self, name: str | None, data_dir: Path | None, act: Callable[[Queue], Awaitable[Result]]
    ) -> Result:
        """Return what it returned."""


def add_to(app: typer.Typer, on: On) -> None:
    """Give the group these commands, which run by `on`."""
    _add_series(app, on)
    _add_kept(app, on)


def _add_series(app: typer.Typer, on: On) -> None:
    @app.command()
    def repeat(  # noqa: PLR0913, PLR0917 - an option each
        name: Series,
        task: Annotated[str, typer.Argument(help="The task's name.")],
        payload: Annotated[str, typer.Argument(help="JSON.")] = "null",
        every: Annotated[float | None, typer.Option(help="Seconds, 1 or more.")] = None,
        cron: Annotated[str | None, typer.Option(help="Five fields.")] = None,
        timezone: Annotated[
            str | None, typer.Option(help="Whose clocks the cron line means.", show_default="UTC")
        ] = None,
        priority: Annotated[int, typer.Option(help="A head start of so many minutes.")] = 0,
        queue: Name = None,
        data_dir: DataDir = None,
    ) -> None:
        """Let a job come again and again, or change how it does.

        At most one of a series waits or runs at a time. The hour that is skipped when clocks are
        put forward counts when it ends, the hour that comes twice counts once.

        \b
        Examples:
          workers queue repeat report report_pdf --cron "0 6 * * mon-fri" --timezone Europe/Berlin
          workers queue repeat beat square '{"x": 7}' --every 60
        """
        try:
            value = json.loads(payload)
        except ValueError as error:
            raise typer.BadParameter(f"the payload is no JSON: {error}") from error
        how: dict[str, Any] = {"every": every, "cron": cron, "timezone": timezone}
        how["priority"] = priority
        on(queue, data_dir, lambda q: q.repeat(name, task, value, **how))

    @app.command()
    def repeats(queue: Name = None, data_dir: DataDir = None) -> None:
        """List the series with their next times, as JSON.

        \b
        Examples:
          workers queue repeats
          workers queue repeats | jq '.[].next_ms'
        """
        print_json([asdict(series) for series in on(queue, data_dir, lambda q: q.repeats())])

    @app.command()
    def unrepeat(name: Series, queue: Name = None, data_dir: DataDir = None) -> None:
        """End a series. Its job that waits is forgotten, one that runs goes on.

        \b
        Examples:
          workers queue unrepeat report
        """
        if not on(queue, data_dir, lambda q: q.remove_repeat(name)):
            typer.echo(f"workers: there is no series {name}", err=True)
            raise typer.Exit(1)


def _add_kept(app: typer.Typer, on: On) -> None:
    @app.command()
    def purge(  # noqa: PLR0913, PLR0917 - an option each
        state: Annotated[Purgeable, typer.Argument(help="Where they are.")],
        task: Annotated[str | None, typer.Option(help="Only of that task.")] = None,
        reason: Annotated[str | None, typer.Option(help="Only dead for that reason.")] = None,
        older: Annotated[
            float | None, typer.Option(min=0, help="Only ended (or put in) so many seconds ago.")
        ] = None,
        queue: Name = None,
        data_dir: DataDir = None,
    ) -> None:
        """Forget jobs by what they are, and say how many were looked at and are gone.

        Others go on meanwhile; interrupted, it may be started again.

        \b
        Examples:
          workers queue purge dead --reason no-handler
          workers queue purge done --older 3600 --queue photos
          workers queue purge ready --task square
        """

        async def all_of_them(q: Queue) -> dict[str, int]:
            total = {"looked": 0, "gone": 0}
            cursor: int | None = 0
            while cursor is not None:
                part = await q.purge(state, task=task, reason=reason, older_s=older, cursor=cursor)
                total = {"looked": total["looked"] + part.looked, "gone": total["gone"] + part.gone}
                cursor = part.cursor
            return total

        print_json(on(queue, data_dir, all_of_them))

    @app.command()
    def keep(  # noqa: PLR0913, PLR0917 - an option each
        done: Annotated[int | None, typer.Option(min=0, help="Most jobs that are done.")] = None,
        done_s: Annotated[int | None, typer.Option(min=0, help="For how many seconds.")] = None,
        done_bytes: Annotated[
            int | None, typer.Option(min=0, help="Most bytes of their payloads and results.")
        ] = None,
        dead: Annotated[int | None, typer.Option(min=0, help="Most jobs that are dead.")] = None,
        dead_s: Annotated[int | None, typer.Option(min=0, help="For how many seconds.")] = None,
        queue: Name = None,
        data_dir: DataDir = None,
    ) -> None:
        """Say how many jobs are kept that have ended, and for how long. 0 stands for the default.

        The defaults: 10,000 that are done, for a day, of 256 MiB together; 100,000 that are dead,
        for 90 days. The oldest go first. Jobs that have ended already keep their time.

        \b
        Examples:
          workers queue keep --done 100000 --done-s 3600
          workers queue keep --dead-s 0 --queue photos
        """
        given: dict[Setting, int | None] = {
            "keep_done": done,
            "keep_done_ms": None if done_s is None else 1000 * done_s,
            "keep_bytes": done_bytes,
            "keep_dead": dead,
            "keep_dead_ms": None if dead_s is None else 1000 * dead_s,
        }
        settings = {name: value or None for name, value in given.items() if value is not None}
        if not settings:
            raise typer.BadParameter("say what is to be kept")
        on(queue, data_dir, lambda q: q.configure(settings))
