"""What a pooler in transaction mode changes: nothing for statements, and nobody hears anything."""

import asyncio
import logging

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from server import database as pools
from server.database import open_pool
from server.outbox import listen
from server.settings import Settings
from tests.server.program import Program

PATIENCE_S = 60
STUCK = (
    "select count(*) from pg_stat_activity where datname = current_database() and state = 'active'"
    " and query like 'select pg_sleep%%'"
)


@pytest.fixture
def through(pooled, place):
    """The connection string that leads through the pooler, however the others get there."""
    known = conninfo_to_dict(pooled)
    return make_conninfo(place.direct, host=known["host"], port=known["port"])


@pytest.mark.parametrize("way_there", ["direct", "through"])
async def test_a_statement_that_takes_too_long_is_cancelled(
    request, way_there, connection, monkeypatch
):
    """The caller is told in time, and the server does not go on with it; the connection lives."""
    async with open_pool(request.getfixturevalue(way_there), most=1) as pool:
        async with pool.connection() as lent:
            with monkeypatch.context() as patch:
                patch.setattr(pools, "ANSWER_S", 0.3)
                with pytest.raises(psycopg.OperationalError, match=r"no answer within 0\.3 s"):
                    await lent.execute("select pg_sleep(60)")
        assert await (await connection.execute(STUCK)).fetchone() == (0,)
        async with pool.connection() as lent:
            assert await (await lent.execute("select 1")).fetchone() == (1,)


async def test_a_pooler_in_transaction_mode_is_noticed(through, caplog):
    """Listening through it ends with a word in the log, instead of hearing nothing for ever."""
    with caplog.at_level(logging.WARNING):
        async with asyncio.timeout(PATIENCE_S):
            await listen(through, asyncio.Event(), within_s=0.5)
    assert [record.__dict__["action"] for record in caplog.records] == ["listen-deaf"]


@pytest.mark.parametrize("listening", ["past it", "off"])
async def test_a_worker_behind_a_pooler(through, direct, connection, rows, listening):
    """It is told where to listen, or that it need not; either way what is due is sent."""
    where = direct if listening == "past it" else "off"
    poll = "100" if listening == "past it" else "0.2"
    worker = Program("work", DATABASE_URL=through, WORKERS_LISTEN_URL=where, WORKERS_POLL_S=poll)
    try:
        said = "listen" if listening == "past it" else "listen-off"
        await asyncio.to_thread(worker.until, said)
        [number] = await rows.add(connection)
        await asyncio.to_thread(worker.until, "settle")
        assert (await rows.read(connection, number))["status"] == "sent"
    finally:
        worker.close()


def test_a_place_to_listen_needs_a_database():
    """An embedded database has no pooler before it."""
    with pytest.raises(ValueError, match="needs DATABASE_URL"):
        Settings(listen_url="host=there")
    assert Settings(DATABASE_URL="host=a", listen_url="off").listen_conninfo("host=a") is None
    assert Settings(DATABASE_URL="host=a").listen_conninfo("host=a") == "host=a"
    with pytest.raises(ValueError, match="no connection string"):
        Settings(DATABASE_URL="off")
