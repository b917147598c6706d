"""The floor: one table, a claim and a settle, and nothing around them. Not a queue to be used.

`python -m bench.outbox_peers.floor JSON`. Beside protocol.py's fields it takes `fused`: the settle
of one batch and the claim of the next go as one transaction in one round trip; and `driver`:
"psycopg" or "asyncpg" (that one only where it is installed).
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, Protocol

import psycopg

from bench.outbox_peers.protocol import CLOCK, Seen, ended, given, say, single, started, trickle

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

Held = list[tuple[int, int, Any]]
"""id, attempt and payload of what was claimed."""

SETUP = """
create table bare (
    id       bigint generated always as identity primary key,
    payload  jsonb       not null,
    state    smallint    not null default 0,
    attempts integer     not null default 0,
    run_at   timestamptz not null default now(),
    lease    timestamptz
) with (fillfactor = 80);
create index bare_waiting on bare (run_at, id) where state = 0;
"""
CLAIM = """
with due as materialized (
    select id from bare where state = 0 and run_at <= now()
     order by run_at, id limit {} for update skip locked
)
update bare as b set state = 1, attempts = attempts + 1, lease = now() + interval '5 minutes'
  from due where b.id = due.id
returning b.id, b.attempts, b.payload
"""
SETTLE = """
update bare as b set state = 2, lease = null
  from unnest({}::bigint[], {}::integer[]) as i(id, attempt)
 where b.id = i.id and b.attempts = i.attempt and b.state = 1
"""
FILL = """
insert into bare (payload)
select jsonb_build_object('n', n) from generate_series(0, %s::int - 1) as n
"""
ADD = "with n as (select pg_notify('bare', '')) insert into bare (payload) select %s from n"
QUIET = "insert into bare (payload) values (%s)"


class Driver(Protocol):
    """How the statements reach the database."""

    async def claim(self, batch: int) -> Held:
        """Claims a batch."""

    async def settle(self, held: Held) -> None:
        """Settles a batch."""

    async def both(self, held: Held, batch: int) -> Held:
        """Settles one batch and claims the next, in one transaction."""


class Psycopg:
    """Over psycopg, with nothing prepared, as behind a pooler."""

    def __init__(self, connection: psycopg.AsyncConnection[Any]) -> None:
        self._connection = connection
        self._claim = CLAIM.format("%s").encode()
        self._settle = SETTLE.format("%s", "%s").encode()

    async def claim(self, batch: int) -> Held:
        """Claims a batch."""
        cursor = await self._connection.execute(self._claim, (batch,))
        return await cursor.fetchall()

    async def settle(self, held: Held) -> None:
        """Settles a batch."""
        await self._connection.execute(
            self._settle, ([job[0] for job in held], [job[1] for job in held])
        )

    async def both(self, held: Held, batch: int) -> Held:
        """Both, as what a pipeline sends before it is synchronised: one transaction."""
        async with self._connection.pipeline():
            await self.settle(held)
            cursor = await self._connection.execute(self._claim, (batch,))
        return await cursor.fetchall()


class Asyncpg:
    """Over asyncpg, as it comes: with prepared statements."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._claim = CLAIM.format("$1")
        self._settle = SETTLE.format("$1", "$2")

    async def claim(self, batch: int) -> Held:
        """Claims a batch."""
        return [tuple(row) for row in await self._connection.fetch(self._claim, batch)]

    async def settle(self, held: Held) -> None:
        """Settles a batch."""
        await self._connection.execute(
            self._settle, [job[0] for job in held], [job[1] for job in held]
        )

    async def both(self, held: Held, batch: int) -> Held:
        """Both, in a transaction of four round trips: asyncpg has no pipeline."""
        async with self._connection.transaction():
            await self.settle(held)
            return await self.claim(batch)


@contextlib.asynccontextmanager
async def _driver(name: str, conninfo: str) -> AsyncIterator[Driver]:
    if name == "psycopg":
        async with await psycopg.AsyncConnection.connect(
            conninfo, autocommit=True, prepare_threshold=None
        ) as connection:
            yield Psycopg(connection)
    else:
        import asyncpg  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415 - a peer's

        opened = await asyncpg.connect(conninfo)
        yield Asyncpg(opened)
        await opened.close()


async def _work(
    driver: Driver, seen: Seen, batch: int, *, fused: bool, wake: asyncio.Event
) -> None:
    held: Held = []
    while True:
        wake.clear()
        if fused and held:
            held = await driver.both(held, batch)
        else:
            held = await driver.claim(batch)
        for _, _, payload in held:
            seen.note(payload["n"] if isinstance(payload, dict) else int(payload[6:-1]))
        if held and not fused:
            await driver.settle(held)
        if not held:
            await wake.wait()


async def _listen(conninfo: str, wake: asyncio.Event) -> None:
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        await connection.execute("listen bare")
        async for _ in connection.notifies():
            wake.set()


async def main() -> None:
    """Does the act that was asked for."""
    wanted = given()
    act, conninfo, count = wanted["act"], wanted["conninfo"], wanted.get("count", 0)
    if act == "work":
        seen, wake = Seen(), asyncio.Event()
        async with _driver(wanted["driver"], conninfo) as driver:
            await started()
            tasks = [
                asyncio.create_task(
                    _work(driver, seen, wanted["batch"], fused=wanted["fused"], wake=wake)
                ),
                asyncio.create_task(_listen(conninfo, wake)),
            ]
            over = asyncio.create_task(ended())
            await asyncio.wait([*tasks, over], return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        say(seen=seen.jobs)
        return
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        text = ADD if wanted.get("notify", True) else QUIET

        async def add(number: int) -> None:
            await connection.execute(text.encode(), (f'{{"n": {number}}}',))

        if act == "setup":
            await connection.execute(SETUP)
        elif act == "fill":
            began = CLOCK()
            await connection.execute(FILL, (count,))
            say(seconds=CLOCK() - began)
        elif act == "single":
            await single(count, add)
        elif act == "trickle":
            await trickle(count, wanted["rate"], add)


if __name__ == "__main__":
    asyncio.run(main())
