"""A worker lives through restarts of its PostgreSQL, in good order and as after a crash."""

import asyncio
import os
import signal

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from server.database import bring_up_to_date, one_connection
from server.outbox import NewDelivery, depth, enqueue, recount
from tests.chaos.database import own_database
from tests.server.program import PATIENCE_S, Program

HASTY = {
    "WORKERS_LEASE_S": "3",
    "WORKERS_SEND_TIMEOUT_S": "2",
    "WORKERS_SEND_MARGIN_S": "0.5",
    "WORKERS_POLL_S": "0.5",
    "WORKERS_PAGE_SEND_S": "0.1",
    "WORKERS_CONCURRENCY": "2",
    "WORKERS_BACKOFF_S": "0.1",
}


@pytest.fixture(scope="module")
def restartable():
    """A PostgreSQL of this file's own, with its usual durability."""
    with own_database() as database:
        asyncio.run(bring_up_to_date(database.conninfo))
        yield database


async def _add(conninfo: str, count: int) -> list[int]:
    async with await one_connection(conninfo, autocommit=False) as connection:
        return await enqueue(
            connection, [NewDelivery("page", "page", {"text": "x"})] * count, max_attempts=5
        )


async def _until_sending(conninfo: str) -> None:
    """Returns once a worker holds something, or has sent it, should this look come late."""
    async with await one_connection(conninfo) as connection, asyncio.timeout(PATIENCE_S):
        while True:
            found = await depth(connection)
            if found.processing or not found.pending:
                return
            await asyncio.sleep(0.01)


async def _until_all_are_sent(conninfo: str) -> psycopg.AsyncConnection:
    connection = await one_connection(conninfo)
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = await depth(connection)
            if not found.pending + found.processing:
                return connection
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("kind", ["fast", "immediate"])
async def test_a_restart_in_the_middle_of_a_batch(restartable, kind):
    """What was committed is sent, what comes after it too, and the worker is the same one."""
    worker = Program("work", DATABASE_URL=restartable.conninfo, **HASTY)
    try:
        before = await _add(restartable.conninfo, 20)
        await _until_sending(restartable.conninfo)
        restart = restartable.restart_fast if kind == "fast" else restartable.restart_immediate
        await asyncio.to_thread(restart)
        after = await _add(restartable.conninfo, 5)
        async with await _until_all_are_sent(restartable.conninfo) as connection:
            cursor = await connection.execute(
                "select count(*) from notifications.page_messages where delivery_id = any(%s)",
                (before + after,),
            )
            assert await cursor.fetchone() == (25,)
            found, counted = await depth(connection), await recount(connection)
            assert {status: getattr(found, status) for status in counted} == counted
            assert (found.failed, found.dead) == (0, 0)
        worker.signal(signal.SIGTERM)
        assert await asyncio.to_thread(worker.ended) == 0
    finally:
        worker.close()


@pytest.mark.skipif(not os.environ.get("WORKERS_TEST_FULL"), reason="long: copies a server")
async def test_a_standby_takes_over_in_the_middle_of_a_batch():
    """The worker finds the new primary by itself; what the old one acknowledged is all there."""
    with own_database() as primary:
        await bring_up_to_date(primary.conninfo)
        standby = await asyncio.to_thread(primary.standby)
        hosts = ",".join(str(conninfo_to_dict(one.conninfo)["host"]) for one in (primary, standby))
        either = make_conninfo(primary.conninfo, host=hosts, target_session_attrs="read-write")
        worker = Program("work", DATABASE_URL=either, **HASTY)
        try:
            before = await _add(either, 20)
            await _until_sending(either)
            await asyncio.to_thread(primary.crash)
            await asyncio.to_thread(worker.until, "database-away")
            await asyncio.to_thread(standby.promote)
            after = await _add(either, 5)
            async with await _until_all_are_sent(either) as connection:
                cursor = await connection.execute(
                    "select count(*) from notifications.page_messages where delivery_id = any(%s)",
                    (before + after,),
                )
                assert await cursor.fetchone() == (25,)
            worker.signal(signal.SIGTERM)
            assert await asyncio.to_thread(worker.ended) == 0
        finally:
            worker.close()
            standby.close()
