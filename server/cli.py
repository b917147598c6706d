"""The command `workers`."""

from __future__ import annotations

import typer

from server.commands import channels, deliveries, jobs, queue
from server.commands.depth import depth
from server.commands.enqueue import enqueue
from server.commands.histogram import histogram
from server.commands.running import drain, serve, work
from server.commands.upkeep import migrate, purge

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="A page about workers, the queue behind it, and the tools for that queue.\n\n"
    "Settings come from WORKERS_* variables and DATABASE_URL (README). Without DATABASE_URL a "
    "PostgreSQL of our own is used, and started for as long as it is needed.",
)

for command in (serve, work, drain, depth, purge, enqueue, migrate, histogram):
    app.command()(command)
app.add_typer(deliveries.app, name="deliveries")
app.add_typer(channels.app, name="channels")
app.add_typer(queue.app, name="queue")
app.add_typer(jobs.app, name="jobs")
