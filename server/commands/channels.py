"""`workers channels`: what waits for each channel, and pausing one."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Annotated

import typer

from server import outbox
from server.commands.connected import over_connection
from server.outbox import ChannelState
from server.terminal import DataDir, print_json, print_table, said_clearly

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="See what waits for each channel, and pause one.",
)

Name = Annotated[str, typer.Argument(help="The channel's name.")]


@app.command("list")
@said_clearly()
def list_channels(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="What the API answers.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Show every channel that has deliveries waiting or is paused.

    \b
    Examples:
      workers channels list
      workers channels list --json | jq '.channels[] | select(.paused_at)'
    """
    found = over_connection(data_dir, outbox.list_channels)
    if as_json:
        print_json({"channels": [asdict(one) for one in found]})
    else:
        _print(found)


@app.command()
@said_clearly()
def pause(
    name: Name,
    reason: Annotated[str | None, typer.Option(help="Why, for whoever wonders.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Let a channel's deliveries wait, attempts unspent, until it is resumed.

    It holds for every worker and drain. What is claimed already is still sent.

    \b
    Examples:
      workers channels pause email
      workers channels pause webhook --reason "the receiver moves house"
    """
    over_connection(data_dir, partial(outbox.pause_channel, channel=_named(name), reason=reason))
    typer.echo(f"{name} is paused")


@app.command()
@said_clearly()
def resume(name: Name, data_dir: DataDir = None) -> None:
    """End a pause. The workers wake up for it.

    \b
    Examples:
      workers channels resume email
    """
    resumed = over_connection(data_dir, partial(outbox.resume_channel, channel=_named(name)))
    typer.echo(f"{name} is resumed" if resumed else f"{name} was not paused")


def _named(name: str) -> str:
    if not name or "\0" in name:
        raise typer.BadParameter("a channel has a name")
    return name


def _print(channels: list[ChannelState]) -> None:
    print_table(
        {
            "channel": "left",
            "pending": "right",
            "due": "right",
            "paused since": "left",
            "reason": "left",
        },
        (
            [
                one.channel,
                str(one.pending),
                str(one.due),
                "" if one.paused_at is None else f"{one.paused_at:%Y-%m-%d %H:%M:%S %Z}",
                one.reason or "",
            ]
            for one in channels
        ),
    )
