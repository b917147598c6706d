"""The outbox of this project: `python -m bench.outbox_peers.ours JSON`.

Its worker is what `workers work` puts together, meter and lease keeper, housekeeping and log
included; only the channel is one that does nothing.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import psycopg

from bench.outbox_peers.protocol import CLOCK, Seen, ended, given, say, single, started, trickle
from server.database import open_pool
from server.logs import configure_logs
from server.meter import Meter, MeteredChannel
from server.outbox import (
    ChannelPolicy,
    Delivery,
    NewDelivery,
    Policy,
    Turn,
    Worker,
    enqueue,
    keeping_leases,
    listen,
    migrate,
    new_holder,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

NAME = "nothing"
STEP = 1000
"""Deliveries that one statement adds."""


class Nothing:
    """A channel that notes what it is given."""

    def __init__(self, seen: Seen, concurrency: int) -> None:
        self.policy = ChannelPolicy(concurrency=concurrency)
        self._seen = seen

    async def send(self, delivery: Delivery) -> None:
        """Takes it."""
        self._seen.note(delivery.payload["n"])


async def _work(conninfo: str, batch: int, concurrency: int) -> None:
    seen, meter, wake, stop = Seen(), Meter(), asyncio.Event(), asyncio.Event()
    channel = MeteredChannel(NAME, Nothing(seen, concurrency), meter)
    policy = Policy(batch=batch, concurrency=concurrency)
    async with AsyncExitStack() as stack:
        pool = await stack.enter_async_context(open_pool(conninfo, most=4))
        turn = Turn(pool.connection, {NAME: channel}, policy, holder=new_holder())
        await stack.enter_async_context(keeping_leases(conninfo, turn))
        worker = Worker(turn, wake=wake)
        await started()
        beside = [
            asyncio.create_task(listen(conninfo, wake)),
            asyncio.create_task(meter.watch_loop()),
            asyncio.create_task(meter.keep(turn.connect, worker.done, every_s=policy.poll_s)),
        ]
        over = asyncio.create_task(ended())
        over.add_done_callback(lambda _: stop.set())
        with meter.timing_statements():
            await worker.run(stop)
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
        await over
    say(seen=seen.jobs)


async def _enqueue(
    connection: psycopg.AsyncConnection[Any], numbers: Sequence[int], *, wake: bool
) -> None:
    added = [NewDelivery(NAME, "nobody", {"n": number}) for number in numbers]
    await enqueue(connection, added, wake=wake)


async def main() -> None:
    """Does the act that was asked for."""
    wanted = given()
    act, conninfo, count = wanted["act"], wanted["conninfo"], wanted.get("count", 0)
    if act == "work":
        configure_logs("json")
        await _work(conninfo, wanted["batch"], wanted["concurrency"])
        return
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        wake = wanted.get("notify", True)
        if act == "setup":
            await migrate(connection)
        elif act == "fill":
            began = CLOCK()
            for first in range(0, count, STEP):
                numbers = range(first, min(first + STEP, count))
                await _enqueue(connection, numbers, wake=wake)
            say(seconds=CLOCK() - began)
        elif act == "single":
            await single(count, lambda number: _enqueue(connection, [number], wake=wake))
        elif act == "trickle":
            await trickle(
                count, wanted["rate"], lambda number: _enqueue(connection, [number], wake=wake)
            )


if __name__ == "__main__":
    asyncio.run(main())
