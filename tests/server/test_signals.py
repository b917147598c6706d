"""A signal at every stage of a worker's life, and two of them during a drain: nothing is lost."""

import asyncio
import json
import os
import random
import signal

import pytest

from server.database import one_connection
from server.outbox.migrate import LOCK
from tests.server.program import PATIENCE_S, Program
from tests.server.proxy import Proxy

SHORT = {"WORKERS_STATEMENT_S": "0.5", "WORKERS_PAGE_SEND_S": "0"}
STOPPED = {signal.SIGTERM: 143, signal.SIGINT: 130}
"""What a program ends with that was stopped before it had begun: 128 and the signal's number."""


@pytest.fixture
def start():
    """Starts programs and ends what a failed test leaves."""
    programs = []

    def begin(*arguments: str, **environment: str) -> Program:
        programs.append(Program(*arguments, **environment))
        return programs[-1]

    yield begin
    for program in programs:
        program.close()


async def _ended(program: Program) -> int:
    """Its exit code; it has said nothing that a person would take for a fault."""
    code = await asyncio.to_thread(program.ended)
    assert "Traceback" not in program.rest(), program.rest()
    return code


async def _until(connection, query: str) -> None:
    """Returns once a query finds something."""
    async with asyncio.timeout(PATIENCE_S):
        while (await connection.execute(query.encode())).rowcount == 0:  # noqa: ASYNC110 - there
            await asyncio.sleep(0.02)


def _waiting(text: str) -> str:
    return (
        "select 1 from pg_stat_activity where datname = current_database()"
        f" and wait_event_type = 'Lock' and starts_with(query, '{text}')"
    )


@pytest.mark.parametrize("number", STOPPED, ids=lambda number: number.name)
async def test_while_it_connects(start, database, number):
    """The database takes the connection and says nothing."""
    async with Proxy(database).running() as proxy:
        proxy.deafen()
        program = start("work", DATABASE_URL=proxy.conninfo)
        async with asyncio.timeout(PATIENCE_S):
            while not proxy.connections:  # noqa: ASYNC110 - nothing tells of a connection
                await asyncio.sleep(0.02)
        program.signal(number)
        assert await _ended(program) == STOPPED[number]


@pytest.mark.parametrize("number", STOPPED, ids=lambda number: number.name)
async def test_while_it_migrates(start, empty_database, number):
    """It waits for another that migrates; nothing of its own is applied."""
    async with (
        await one_connection(empty_database, autocommit=False) as other,
        await one_connection(empty_database) as connection,
    ):
        await other.execute("select pg_advisory_xact_lock(%s)", (LOCK,))
        program = start("work", DATABASE_URL=empty_database)
        await _until(connection, _waiting("select pg_advisory_xact_lock"))
        program.signal(number)
        assert await _ended(program) == STOPPED[number]
        cursor = await connection.execute("select to_regnamespace('notifications')")
        assert await cursor.fetchone() == (None,)


async def test_while_it_cannot_listen(start, database, connection, rows):
    """It works already, and ends in good order."""
    async with Proxy(database).running() as proxy:
        proxy.deafen()
        program = start("work", DATABASE_URL=database, WORKERS_LISTEN_URL=proxy.conninfo, **SHORT)
        await rows.add(connection)
        await asyncio.to_thread(program.until, "settle")
        program.signal(signal.SIGTERM)
        assert await _ended(program) == 0


@pytest.mark.parametrize("table", ["workers", "notification_deliveries"])
async def test_while_its_first_statement_waits(start, connect, connection, rows, table):
    """It gives the statement up; what was due is as it was."""
    [number] = await rows.add(connection)
    async with connect() as other, other.transaction():
        await other.execute(f"lock table notifications.{table} in access exclusive mode".encode())
        program = start("work", DATABASE_URL=connection.info.dsn, **SHORT)
        await asyncio.to_thread(program.until, "start")
        await _until(connection, _waiting(""))
        program.signal(signal.SIGTERM)
        assert await _ended(program) == 0
    row = await rows.read(connection, number)
    assert (row["status"], row["attempts"], row["max_attempts"]) in {
        ("pending", 0, 5),
        ("pending", 1, 6),  # claimed when the lock was gone, and handed back
    }


@pytest.mark.skipif(not os.environ.get("WORKERS_TEST_FULL"), reason="long: 40 starts")
@pytest.mark.timeout(300)
async def test_at_any_moment(start, database, connection, rows):
    """However early or late: it ends, nothing stays held, and it says how it ended."""
    chance = random.Random(4)
    for turn in range(40):
        await rows.add(connection, 3)
        program = start("work", DATABASE_URL=database, **SHORT)
        await asyncio.sleep(chance.uniform(0, 2.0))
        program.signal(signal.SIGTERM)
        code = await _ended(program)
        # Before Python has come as far as our first line, the signal itself ends it.
        assert code in {0, 143, -signal.SIGTERM}, (turn, code, program.rest())
        cursor = await connection.execute(
            "select count(*) from notifications.notification_deliveries"
            " where status not in ('pending', 'sent')"
        )
        assert await cursor.fetchone() == (0,), (turn, program.rest())


async def test_twice_during_a_drain(start, connect, connection, rows):
    """What is being sent is left to its lease, the rest is handed back; the report tells it."""
    ids = await rows.add(connection, 3)
    async with connect() as holder, holder.transaction():
        await holder.execute("lock table notifications.page_messages in exclusive mode")
        program = start(
            "drain",
            DATABASE_URL=connection.info.dsn,
            WORKERS_CONCURRENCY="1",
            WORKERS_SEND_TIMEOUT_S="60",
            WORKERS_STOP_S="100",
        )
        await _until(connection, _waiting("insert into notifications.page_messages"))
        program.signal(signal.SIGTERM)
        await asyncio.to_thread(program.until, "stopping")
        program.signal(signal.SIGTERM)
        assert program.process.stdout is not None
        report = json.loads(await asyncio.to_thread(program.process.stdout.read))
        assert await _ended(program) == 3
        found = [await rows.read(connection, number) for number in ids]
        states = [(row["status"], row["attempts"], row["max_attempts"]) for row in found]
    assert states == [("processing", 1, 5)] + [("pending", 1, 6)] * 2
    assert (report["finished"], report["done"]["released"], report["left"]["due"]) == (False, 2, 2)
