"""A producer of the chaos run, as a process: enqueues as many as it is told, and says so.

`python -m tests.chaos.producer '{"conninfo": …, "name": …, "journal": …, "seed": …}'` reads one
number a line from standard input, enqueues so many in transactions of a few each, and answers
`done`. A transaction whose end it did not hear of is tried again with the same idempotency keys;
some are rolled back on purpose and given up.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from pathlib import Path
from typing import Any

import psycopg

from server.outbox import Connect, NewDelivery, enqueue
from server.outbox.connect import bounded
from tests.chaos.figures import CHANNEL, KINDS, POLICY, STATEMENT_S
from tests.chaos.programs import Journal, connector

MOST = 40
"""How many deliveries one transaction adds at most."""


async def add(connect: Connect, wanted: list[NewDelivery], journal: Journal, *, undo: bool) -> None:
    """Adds the deliveries in one transaction, however often that takes, and journals its end."""
    keys = [delivery.idempotency_key for delivery in wanted]

    async def transact(connection: psycopg.AsyncConnection[Any]) -> None:
        async with connection.transaction():
            await enqueue(connection, wanted, max_attempts=POLICY.max_attempts)
            if undo:
                raise psycopg.Rollback

    while True:
        try:
            await bounded(connect, transact, within_s=STATEMENT_S)
        except psycopg.OperationalError as error:
            journal.write("unheard", keys=keys, error=str(error))
            await asyncio.sleep(0.1)
        else:
            journal.write("undone" if undo else "acknowledged", keys=keys)
            return


async def main(conninfo: str, name: str, seed: int, journal: Journal) -> None:
    """Serves standard input until it closes."""
    chance = random.Random(seed)  # noqa: S311 - chance that can be repeated, not secrets
    connect = connector(conninfo, journal)
    number = 0
    while line := await asyncio.to_thread(sys.stdin.readline):
        left = int(line)
        while left:
            count = min(left, chance.randint(1, MOST))
            wanted = []
            for _ in range(count):
                number += 1
                kind = KINDS[number % len(KINDS)]
                payload = {"kind": kind, "number": number, "from": name}
                wanted.append(NewDelivery(CHANNEL, name, payload, f"{name}-{number}"))
            undo = chance.random() < 0.05
            await add(connect, wanted, journal, undo=undo)
            left -= 0 if undo else count
        print("done", flush=True)  # noqa: T201 - how it answers


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    asyncio.run(
        main(given["conninfo"], given["name"], given["seed"], Journal(Path(given["journal"])))
    )
