"""A worker hears of new deliveries, and notices when it hears nothing any more."""

import asyncio

import pytest

from server.outbox import listen
from tests.server.proxy import Proxy

PATIENCE_S = 60


@pytest.fixture
async def ears():
    """Starts listening, and ends it after the test."""
    tasks = []

    def start(conninfo: str, **options) -> asyncio.Event:
        wake = asyncio.Event()
        tasks.append(asyncio.create_task(listen(conninfo, wake, **options)))
        return wake

    yield start
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _until(wake: asyncio.Event) -> None:
    """Waits for the next waking."""
    async with asyncio.timeout(PATIENCE_S):
        await wake.wait()
    wake.clear()


async def test_a_half_open_connection_is_given_up(ears, direct, connection, rows):
    """It seems to live and says nothing; a new one is opened, and hears."""
    async with Proxy(direct).running() as proxy:
        wake = ears(proxy.conninfo, check_s=0.2, within_s=0.3)
        await _until(wake)
        proxy.deafen()
        await rows.add(connection)
        async with asyncio.timeout(PATIENCE_S):
            while proxy.connections < 2:  # noqa: ASYNC110 - nothing tells of a connection
                await asyncio.sleep(0.02)
        proxy.hear()
        await _until(wake)
        wake.clear()
        await rows.add(connection)
        await _until(wake)


async def test_a_silent_connection_that_answers_is_kept(ears, direct, connection, rows):
    """Silence alone is no fault; and what comes during the question is not missed."""
    async with Proxy(direct).running() as proxy:
        wake = ears(proxy.conninfo, check_s=0.01, within_s=PATIENCE_S)
        await _until(wake)
        for _ in range(30):
            await rows.add(connection)
            await _until(wake)
        assert proxy.connections == 1


async def test_it_wakes_after_the_server_has_cut_it_off(ears, direct, connection):
    """A notification may have been missed meanwhile."""
    wake = ears(direct)
    await _until(wake)
    cut = await connection.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity"
        " where datname = current_database() and query like 'listen%%'"
    )
    assert cut.rowcount == 1
    await _until(wake)
