"""How the lab's channel behaves; it lies in the database, so that every lab worker sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from psycopg import AsyncConnection
from psycopg.rows import class_row

from server.outbox.statements import statement

CHANNEL = "lab"
SQL = Path(__file__).parent / "sql"
LOCK = 0x6C6162  # "lab"

OWN = ("refuses", "fails", "takes_s")
"""What a delivery may have of its own, in its payload."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What becomes of a send.

    `down`: the channel itself cannot be reached. `refuses`: the receiver refuses for good.
    `fails`: the first so many attempts of each delivery fail. `takes_s`: how long a send takes, in
    seconds before they are scaled.
    """

    down: bool = False
    refuses: bool = False
    fails: int = 0
    takes_s: float = 50.0

    def of(self, payload: Mapping[str, Any]) -> Self:
        """The same for a delivery that brings some of it along in its payload."""
        return replace(self, **{name: payload[name] for name in OWN if name in payload})


async def prepare(connection: AsyncConnection[Any]) -> None:
    """Makes what the lab needs in the database, if it is not there; several may at once.

    Where it is, nothing is done: a role that may not make a schema can use what another has made.
    """
    cursor = await connection.execute(statement("prepared", SQL))
    if await cursor.fetchone() == (True,):
        return
    async with connection.transaction():
        await connection.execute("select pg_advisory_xact_lock(%s)", (LOCK,))
        await connection.execute(statement("prepare", SQL))


async def read_behaviour(connection: AsyncConnection[Any]) -> Behaviour:
    """How the channel behaves at this moment."""
    async with connection.cursor(row_factory=class_row(Behaviour)) as cursor:
        await cursor.execute(statement("read_behaviour", SQL), {"name": CHANNEL})
        return await cursor.fetchone() or Behaviour()


async def set_behaviour(connection: AsyncConnection[Any], behaviour: Behaviour) -> None:
    """Lets the channel behave so from now on; sends under way are not touched."""
    await connection.execute(
        statement("set_behaviour", SQL),
        {
            "name": CHANNEL,
            "down": behaviour.down,
            "refuses": behaviour.refuses,
            "fails": behaviour.fails,
            "takes_s": behaviour.takes_s,
        },
    )
