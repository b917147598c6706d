"""`workers depth`: how much there is in each state."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import typer

from server import outbox
from server.api.queue_depth import QueueDepth
from server.database import bring_up_to_date, database, one_connection
from server.outbox import Depth, Status
from server.terminal import DataDir, print_json, print_table, said_clearly, settings_for


@said_clearly()
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


def _print_depth(document: dict[str, Any]) -> None:
    pending = document["pending"]
    age = document["oldest_due_age_s"]
    print_table(
        {"state": "left", "deliveries": "right"},
        [
            ("pending", str(pending["total"])),
            *((f"  {part}", str(pending[part])) for part in ("due", "scheduled", "retrying")),
            *((state, str(document[state])) for state in ("processing", "sent", "failed", "dead")),
            ("oldest due for", "-" if age is None else f"{age:.1f} s"),
        ],
        title=f"{document['mode']}, workers: {document['workers']['live']}",
    )
