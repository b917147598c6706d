"""`workers deliveries`: look at deliveries, retry those that ended, cancel those that wait."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any

import typer
from psycopg import AsyncConnection

from server import outbox
from server.commands.connected import over_connection
from server.errors import WorkersError
from server.outbox import Status, StoredDelivery
from server.terminal import DataDir, print_json, print_table, said_clearly

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Look at deliveries, retry those that ended badly, cancel those that wait.",
)

LARGEST_ID = (1 << 63) - 1

StatusOption = Annotated[Status | None, typer.Option(help="Of this status only.")]
ChannelOption = Annotated[str | None, typer.Option(help="Of this channel only.")]
Ids = Annotated[list[int] | None, typer.Argument(min=1, max=LARGEST_ID, help="Ids of deliveries.")]


@app.command("list")
@said_clearly()
def list_deliveries(  # noqa: PLR0913 - an option each
    status: StatusOption = None,
    channel: ChannelOption = None,
    cursor: Annotated[str | None, typer.Option(help="Go on where the page before ended.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Longest page.")] = 25,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="What the API answers.")] = False,
    data_dir: DataDir = None,
) -> None:
    """List deliveries, page by page.

    Pending ones in the order in which they fall due, those that ended latest first, all of them
    newest first. The last line says how to see the next page.

    \b
    Examples:
      workers deliveries list
      workers deliveries list --status dead
      workers deliveries list --status pending --channel email --limit 100 --json
    """
    wanted = partial(
        outbox.list_deliveries, status=status, channel=channel, cursor=cursor, limit=limit
    )
    try:
        page = over_connection(data_dir, wanted)
    except outbox.InvalidCursorError as error:
        raise WorkersError(f"--cursor: {error}", exit_code=2) from error
    if as_json:
        print_json(asdict(page))
        return
    _print(page.deliveries)
    if page.cursor is not None:
        typer.echo(f"more: --cursor {page.cursor}")


@app.command()
@said_clearly()
def show(
    number: Annotated[int, typer.Argument(metavar="ID", min=1, max=LARGEST_ID)],
    data_dir: DataDir = None,
) -> None:
    """Show one delivery as JSON, with its payload and every attempt.

    \b
    Examples:
      workers deliveries show 42
      workers deliveries show 42 | jq .attempts
    """
    found = over_connection(data_dir, partial(outbox.show_delivery, number=number))
    if found is None:
        raise WorkersError(f"there is no delivery {number}")
    print_json(asdict(found))


@app.command()
@said_clearly()
def retry(  # noqa: PLR0913, PLR0917 - an option each
    ids: Ids = None,
    status: StatusOption = None,
    channel: ChannelOption = None,
    settle_class: Annotated[
        str | None, typer.Option(help="Ended for this reason only, as 'exhausted'.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many, by filter.")] = 1000,
    attempts: Annotated[
        int, typer.Option(min=1, max=25, help="Room for at least so many further attempts.")
    ] = 1,
    data_dir: DataDir = None,
) -> None:
    """Give failed or dead deliveries another chance: due now. Prints the ids, one a line.

    Name them, or name a status and filter by channel and reason; then the oldest ends come first,
    and what ends again meanwhile does not come round a second time.

    \b
    Exit codes: 0, or 1 if one that was named has not failed and is not dead.

    \b
    Examples:
      workers deliveries retry 42 43
      workers deliveries retry 42 --attempts 5
      workers deliveries retry --status dead --channel email
      workers deliveries retry --status failed --settle-class cancelled --limit 10
    """
    if bool(ids) == bool(status):
        raise WorkersError("name either ids or a --status", exit_code=2)
    if status is None:
        named = ids or []
        _tell(
            over_connection(data_dir, partial(outbox.retry, numbers=named, more=attempts)),
            named,
            "has not failed and is not dead",
        )
        return
    if status not in {Status.FAILED, Status.DEAD}:
        raise WorkersError("--status: failed or dead", exit_code=2)
    filtered = partial(
        outbox.retry_matching,
        status=status,
        channel=channel,
        settle_class=settle_class,
        settled_before=datetime.now(UTC),
        more=attempts,
    )
    _tell(over_connection(data_dir, partial(_retry_all, filtered, limit)), [], "")


@app.command()
@said_clearly()
def cancel(ids: Ids = None, data_dir: DataDir = None) -> None:
    """End deliveries that wait, as failed. What a worker holds is left alone. Prints the ids.

    \b
    Exit codes: 0, or 1 if one of them is not pending.

    \b
    Examples:
      workers deliveries cancel 42
      workers deliveries cancel 42 43 44
    """
    if not ids:
        raise WorkersError("name the ids", exit_code=2)
    _tell(over_connection(data_dir, partial(outbox.cancel, numbers=ids)), ids, "is not pending")


async def _retry_all(
    matching: Callable[..., Awaitable[list[int]]], limit: int, connection: AsyncConnection[Any]
) -> list[int]:
    """Retries batch by batch, each a transaction of its own."""
    moved: list[int] = []
    while len(moved) < limit:
        batch = await matching(connection, limit=limit - len(moved))
        if not batch:
            break
        moved += batch
    return moved


def _tell(moved: list[int], named: list[int], why: str) -> None:
    """Prints what was moved; raises WorkersError for those that were named and were not."""
    if moved:
        typer.echo("\n".join(map(str, moved)))
    stayed = sorted(set(named) - set(moved))
    if stayed:
        raise WorkersError("; ".join(f"delivery {number} {why}" for number in stayed))


def _print(deliveries: list[StoredDelivery]) -> None:
    titles = ("id", "channel", "recipient", "status", "attempts", "when", "why")
    print_table(dict.fromkeys(titles, "left"), map(_row, deliveries))


def _row(one: StoredDelivery) -> list[str]:
    when = one.settled_at or (
        one.next_attempt_at if one.status is Status.PENDING else one.attempted_at
    )
    return [
        str(one.id),
        one.channel,
        one.recipient,
        one.status.value,
        f"{one.attempts}/{one.max_attempts}",
        "" if when is None else f"{when:%Y-%m-%d %H:%M:%S %Z}",
        ": ".join(part for part in (one.settle_class, one.last_error) if part),
    ]
