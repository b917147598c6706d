"""A database that gives no answer is given up, whatever happens meanwhile."""

import asyncio
import gc

import psycopg
import pytest

from server.outbox.connect import answered
from tests.server.proxy import Proxy

STUCK = (
    "select count(*) from pg_stat_activity where datname = current_database() and state = 'active'"
    " and query like 'select pg_sleep%%'"
)


async def test_what_takes_too_long_is_cancelled_in_the_server(connect, connection):
    """A statement that is given up does not keep its place there, and the connection is whole."""
    async with connect() as slow:
        sleeping = slow.execute("select pg_sleep(60)")
        with pytest.raises(psycopg.OperationalError, match="no answer within"):
            await answered(slow, sleeping, within_s=0.1)
        assert await (await slow.execute("select 1")).fetchone() == (1,)
    assert await (await connection.execute(STUCK)).fetchone() == (0,)


@pytest.mark.parametrize("times", [1, 2])
async def test_giving_up_may_be_cancelled(unpooled, times):
    """Once or twice: the connection is cut, and no failure is left that nobody asks about."""
    complaints = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, found: complaints.append(found))
    async with Proxy(unpooled).running() as proxy:
        deaf = await psycopg.AsyncConnection.connect(proxy.conninfo, autocommit=True)
        proxy.deafen()
        asking = asyncio.create_task(answered(deaf, deaf.execute("select 1"), within_s=60))
        await asyncio.sleep(0)
        for _ in range(times):
            asking.cancel()
            await asyncio.sleep(0.05)
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert deaf.closed
        del asking
        gc.collect()
    assert complaints == []
