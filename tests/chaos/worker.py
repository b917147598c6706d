"""A worker of the chaos run, as a process: the outbox and a channel that calls the receiver.

`python -m tests.chaos.worker '{"conninfo": …, "port": …, "holder": …, "journal": …}'`
runs one; with `"patient": true` its lease is long, with `"host": …` the receiver is elsewhere.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path

from server.outbox import Delivery, Policy, Refused, Turn, Worker, keeping_leases, listen
from tests.chaos.figures import CHANNEL, PATIENT, POLICY, STATEMENT_S, channel_policy
from tests.chaos.programs import Journal, connector, note_stalls


class Caller:
    """The channel: one HTTP call a delivery, with its id, its attempt and who calls."""

    def __init__(self, address: tuple[str, int], holder: str, policy: Policy) -> None:
        self.policy = channel_policy(policy)
        self._address = address
        self._holder = holder

    async def send(self, delivery: Delivery) -> str | None:
        """Returns at 200. Raises Refused at 410 and RuntimeError at any other answer."""
        reader, writer = await asyncio.open_connection(*self._address)
        try:
            body = json.dumps(delivery.payload, sort_keys=True).encode()
            head = (
                "POST / HTTP/1.0\r\n"
                f"Delivery-Id: {delivery.id}\r\nDelivery-Attempt: {delivery.attempt}\r\n"
                f"Delivery-Holder: {self._holder}\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            writer.write(head.encode() + body)
            await writer.drain()
            status = (await reader.readline()).split()[1:2]
        finally:
            writer.close()
        if status == [b"410"]:
            raise Refused("the receiver answered 410")
        if status != [b"200"]:
            raise RuntimeError(f"the receiver answered {status}")
        return f"{delivery.id}/{delivery.attempt}"


async def main(
    conninfo: str, address: tuple[str, int], holder: str, journal: Journal, policy: Policy
) -> None:
    """Works until SIGTERM."""
    stop, wake = asyncio.Event(), asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    channels = {CHANNEL: Caller(address, holder, policy)}
    turn = Turn(connector(conninfo, journal), channels, policy, holder=holder)
    beside = [
        asyncio.create_task(listen(conninfo, wake, check_s=STATEMENT_S, within_s=STATEMENT_S)),
        asyncio.create_task(note_stalls(journal)),
    ]
    print("ready", flush=True)  # noqa: T201 - whoever started it waits for that
    try:
        async with keeping_leases(conninfo, turn):
            await Worker(turn, wake=wake).run(stop)
    finally:
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    asyncio.run(
        main(
            given["conninfo"],
            (given.get("host", "127.0.0.1"), given["port"]),
            given["holder"],
            Journal(Path(given["journal"])),
            PATIENT if given.get("patient") else POLICY,
        )
    )
