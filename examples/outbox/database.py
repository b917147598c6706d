"""Where the shop's database is, and its tables: its own, and those of the outbox."""

import asyncio
import os
import sys

import outbox
import psycopg

ORDERS = """
create table if not exists orders (
    id         bigint generated always as identity primary key,
    customer   text not null,
    item       text not null,
    ordered_at timestamptz not null default now()
)
"""


def prepared() -> str:
    """The connection string of a database that has the tables; ends the program without one.

    A program that is deployed does this once, at its deployment. Doing it again changes nothing.
    """
    database = os.environ.get("DATABASE_URL", "")  # without it what libpq's own variables say
    try:
        asyncio.run(_prepare(database))
    except psycopg.OperationalError as error:
        sys.exit(f"{error}\nName a PostgreSQL, as in DATABASE_URL=postgresql://localhost/shop")
    return database


async def _prepare(database: str) -> None:
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        await outbox.migrate(connection)
        await connection.execute("set client_min_messages = warning")
        await connection.execute(ORDERS)
