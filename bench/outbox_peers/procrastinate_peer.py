"""procrastinate, over psycopg: see protocol.py."""

from __future__ import annotations

import asyncio
import logging

import procrastinate  # type: ignore[import-not-found, unused-ignore]

from bench.outbox_peers.protocol import CLOCK, Seen, ended, given, say, single, started, trickle

STEP = 500


async def main() -> None:
    """Does the act that was asked for."""
    wanted = given()
    act, count = wanted["act"], wanted.get("count", 0)
    logging.getLogger("procrastinate").setLevel(logging.WARNING)
    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=wanted["conninfo"]))
    seen = Seen()

    @app.task(name="nothing")  # type: ignore[misc, unused-ignore]
    async def nothing(number: int) -> None:
        seen.note(number)

    async with app.open_async():
        if act == "setup":
            await app.schema_manager.apply_schema_async()
        elif act == "work":
            await started()
            running = asyncio.create_task(
                app.run_worker_async(
                    concurrency=wanted["concurrency"], install_signal_handlers=False
                )
            )
            await ended()
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            say(seen=seen.jobs)
        elif act == "fill":
            began = CLOCK()
            for first in range(0, count, STEP):
                numbers = range(first, min(first + STEP, count))
                await nothing.batch_defer_async(*({"number": n} for n in numbers))
            say(seconds=CLOCK() - began)
        elif act == "single":
            await single(count, lambda n: nothing.defer_async(number=n))
        elif act == "trickle":
            await trickle(count, wanted["rate"], lambda n: nothing.defer_async(number=n))


if __name__ == "__main__":
    asyncio.run(main())
