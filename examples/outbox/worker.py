"""Sends what producers have enqueued. Any number of workers may run beside each other.

Ctrl-C loses nothing: what has not been started is handed back at once, and what is being sent is
finished first. A second Ctrl-C does not wait for that: those deliveries are sent again when their
lease is over. So they are after a crash.
"""

import argparse
import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import outbox
import psycopg
from database import prepared


class Mail:
    """A channel. It returns when the receiver has taken the delivery, and raises when not.

    This one prints. A real one hands `delivery.id` to the receiver, who can see by it that a
    delivery which comes a second time is the same one.
    """

    def __init__(self, takes_s: float) -> None:
        self._takes_s = takes_s

    async def send(self, delivery: outbox.Delivery) -> None:
        """Sends one delivery; this may be called again with the same one."""
        if "@" not in delivery.recipient:
            raise outbox.Refused("that is no address")  # for good: it ends as `failed`
        print(f"sending {delivery.id}", flush=True)
        await asyncio.sleep(self._takes_s)
        print(f"sent {delivery.id} to {delivery.recipient}: {delivery.payload['text']}", flush=True)


async def work(
    database: str, channels: Mapping[str, outbox.Channel], *, drain: bool
) -> outbox.Tally:
    """Works until a signal comes, or with `drain` until nothing is due; returns what was done."""

    @asynccontextmanager
    async def connect() -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        # psycopg_pool's `pool.connection` does it too, and saves the connecting.
        async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
            yield connection

    turn = outbox.Turn(connect, channels, outbox.Policy(), holder=outbox.new_holder())
    stop = asyncio.Event()

    def on_signal() -> None:
        if stop.is_set():
            turn.leave()
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, on_signal)
    async with outbox.keeping_leases(database, turn):
        if drain:
            return (await outbox.drain(turn, stop)).done
        wake = asyncio.Event()
        listening = asyncio.create_task(outbox.listen(database, wake))
        try:
            return await outbox.Worker(turn, wake=wake).run(stop)
        finally:
            listening.cancel()


def main() -> None:
    """Reads the options, works, and says what was done."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--drain", action="store_true", help="end as soon as nothing is due")
    parser.add_argument(
        "--takes", type=float, default=0.5, metavar="S", help="seconds that a send takes (0.5)"
    )
    options = parser.parse_args()
    logging.basicConfig(format="%(levelname)s %(message)s")
    channels = {"mail": Mail(options.takes)}
    done = asyncio.run(work(prepared(), channels, drain=options.drain))
    print(f"sent {done.sent}, refused for good {done.failed}, to be tried again {done.retried}")


if __name__ == "__main__":
    main()
