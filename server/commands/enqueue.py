"""`workers enqueue`: puts deliveries into the queue."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterable
from typing import Annotated, Any

import typer

from server import outbox
from server.database import bring_up_to_date, database, one_connection
from server.errors import WorkersError
from server.outbox import Fault, InvalidDeliveryError, NewDelivery
from server.outbox.validation import PAYLOAD_BYTES, payload_text
from server.settings import Settings
from server.terminal import DataDir, said_clearly, settings_for

LONGEST_DELAY_S = 366 * 24 * 3600.0
OPTIONS = {"idempotency_key": "--key"}
"""Which option gives a field of a request, where it has another name."""


@said_clearly()
def enqueue(  # noqa: PLR0913, PLR0917 - an option each
    text: Annotated[
        str | None, typer.Option(help="What the page will show.", show_default="Hello")
    ] = None,
    channel: Annotated[str, typer.Option(help="page, email, webhook or queue.")] = "page",
    recipient: Annotated[
        str | None,
        typer.Option(help="Addresses, a URL, or a task.", show_default="page"),
    ] = None,
    payload: Annotated[
        str | None, typer.Option(help="JSON object, instead of --text; - reads standard input.")
    ] = None,
    count: Annotated[int, typer.Option(min=1, max=1000, help="How many deliveries.")] = 1,
    delay: Annotated[
        float, typer.Option(min=0, max=LONGEST_DELAY_S, help="Seconds until they are due.")
    ] = 0.0,
    key: Annotated[
        str | None, typer.Option(help="Idempotency key: the same command again adds nothing.")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Enqueue deliveries and print their ids, one a line.

    Whatever their channel could never send is refused here, with the option that is at fault.

    \b
    Examples:
      workers enqueue --text "Good morning"
      workers enqueue --count 1000
      workers enqueue --text once --key order-17
      workers enqueue --channel webhook --recipient https://hooks.example.org/x --payload '{"a": 1}'
      workers enqueue --channel email --recipient ada@example.org --payload - < mail.json
    """
    settings = settings_for(data_dir=data_dir, quiet=True)
    if payload is not None and text is not None:
        raise WorkersError("--text and --payload: give one of them", exit_code=2)
    if payload is None and channel != "page":
        raise WorkersError(f"--payload: needed for channel {channel}", exit_code=2)
    given: dict[str, Any] = {
        "channel": channel,
        "payload": {"text": "Hello" if text is None else text}
        if payload is None
        else _object(payload),
        "count": count,
        "idempotency_key": key,
    }
    if recipient is not None:
        given["recipient"] = recipient
    try:
        wanted = _deliveries(given, delay_s=delay, settings=settings)
    except InvalidDeliveryError as error:
        raise _unfit(error.faults, by_text=payload is None) from error
    with database(settings) as conninfo:
        ids = asyncio.run(_enqueue(conninfo, wanted, settings.max_attempts))
    typer.echo("\n".join(str(one) for one in ids))


def _object(payload: str) -> Any:
    """The JSON in an option or on standard input. Raises WorkersError if there is none."""
    if payload == "-":
        read = sys.stdin.buffer.read(PAYLOAD_BYTES + 1)
        if len(read) > PAYLOAD_BYTES:
            raise WorkersError(f"--payload: at most {PAYLOAD_BYTES} bytes are taken", exit_code=2)
        payload = read.decode(errors="surrogateescape")
    try:
        return json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise WorkersError(f"--payload: is no JSON: {error}", exit_code=2) from error


def _deliveries(given: dict[str, Any], *, delay_s: float, settings: Settings) -> list[NewDelivery]:
    """What the API would enqueue for this, all of it checked; raises InvalidDeliveryError."""
    from pydantic import ValidationError

    from server.api.delivery_request import DeliveryRequest
    from server.composition import checks

    try:
        wanted = DeliveryRequest.model_validate(given).deliveries(delay_s=delay_s)
    except ValidationError as error:
        faults = [
            Fault(".".join(map(str, one["loc"])), one["msg"].removeprefix("Value error, "))
            for one in error.errors()
        ]
        raise InvalidDeliveryError(0, *faults) from error
    # They are all alike, so one stands for the others.
    payload_text(0, wanted[0], check=checks(settings).get(wanted[0].channel))
    return wanted


def _unfit(faults: Iterable[Fault], *, by_text: bool) -> WorkersError:
    """The error that says what is wrong with which option."""
    lines = []
    for fault in faults:
        name, _, within = fault.field.partition(".")
        option = OPTIONS.get(name, f"--{name}")
        if name == "payload" and by_text:
            option, within = "--text", ""
        lines.append(f"{option} {within}".rstrip() + f": {fault.message}")
    return WorkersError("; ".join(lines), exit_code=2)


async def _enqueue(conninfo: str, deliveries: list[NewDelivery], max_attempts: int) -> list[int]:
    await bring_up_to_date(conninfo)
    async with await one_connection(conninfo, autocommit=False) as connection:
        return await outbox.enqueue(connection, deliveries, max_attempts=max_attempts)
