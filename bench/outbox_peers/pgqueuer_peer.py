"""pgqueuer, over asyncpg as its documentation has it: see protocol.py."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import asyncpg  # type: ignore[import-not-found, unused-ignore]
from pgqueuer import PgQueuer  # type: ignore[import-not-found, unused-ignore]
from pgqueuer.db import AsyncpgDriver  # type: ignore[import-not-found, unused-ignore]
from pgqueuer.queries import Queries  # type: ignore[import-not-found, unused-ignore]

from bench.outbox_peers.protocol import CLOCK, Seen, ended, given, say, single, started, trickle

if TYPE_CHECKING:
    from pgqueuer.models import Job  # type: ignore[import-not-found, unused-ignore]

STEP = 1000


async def _work(connection: asyncpg.Connection, batch: int) -> None:
    seen = Seen()
    queuer = PgQueuer(AsyncpgDriver(connection))

    @queuer.entrypoint("nothing")
    async def nothing(job: Job) -> None:
        seen.note(int(job.payload))

    await started()
    running = asyncio.create_task(queuer.run(batch_size=batch))
    await ended()
    queuer.shutdown.set()
    await running
    say(seen=seen.jobs)


async def main() -> None:
    """Does the act that was asked for."""
    wanted = given()
    act, count = wanted["act"], wanted.get("count", 0)
    connection = await asyncpg.connect(wanted["conninfo"])
    queries = Queries(AsyncpgDriver(connection))
    if act == "setup":
        await queries.install()
    elif act == "work":
        await _work(connection, wanted["batch"])
    elif act == "fill":
        began = CLOCK()
        for first in range(0, count, STEP):
            numbers = range(first, min(first + STEP, count))
            await queries.enqueue(
                ["nothing"] * len(numbers), [str(n).encode() for n in numbers], [0] * len(numbers)
            )
        say(seconds=CLOCK() - began)
    elif act == "single":
        await single(count, lambda n: queries.enqueue("nothing", str(n).encode()))
    elif act == "trickle":
        await trickle(count, wanted["rate"], lambda n: queries.enqueue("nothing", str(n).encode()))
    await connection.close()


if __name__ == "__main__":
    asyncio.run(main())
