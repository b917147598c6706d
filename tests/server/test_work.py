"""`workers work` as a process: killed, ended, frozen in the middle of a send."""

import asyncio
import contextlib
import signal

import pytest

from server.outbox import reap
from tests.server.program import Program

HASTY = {
    "WORKERS_LEASE_S": "3",
    "WORKERS_SEND_TIMEOUT_S": "2",
    "WORKERS_SEND_MARGIN_S": "0.5",
    "WORKERS_POLL_S": "1",
    "WORKERS_PAGE_SEND_S": "0",
}
PATIENT = HASTY | {"WORKERS_LEASE_S": "120", "WORKERS_SEND_TIMEOUT_S": "60"}


@pytest.fixture
def start(database, direct):
    """Starts worker processes on the test's database; they listen past a pooler."""
    programs = []

    def work(environment: dict[str, str]) -> Program:
        programs.append(
            Program("work", DATABASE_URL=database, WORKERS_LISTEN_URL=direct, **environment)
        )
        return programs[-1]

    yield work
    for program in programs:
        program.close()


@contextlib.asynccontextmanager
async def _sends_blocked(connect):
    """Holds the table that the channel writes to, so that every send stays under way."""
    async with connect() as holder, holder.transaction():
        await holder.execute("lock table notifications.page_messages in exclusive mode")
        yield holder


async def _until_sending(connect, count: int) -> None:
    """Waits until so many sends stand before the lock."""
    async with connect() as connection, asyncio.timeout(60):
        while True:
            cursor = await connection.execute(
                "select count(*) from pg_stat_activity where datname = current_database()"
                " and wait_event_type = 'Lock'"
                " and query like 'insert into notifications.page_messages%'"
            )
            if await cursor.fetchone() == (count,):
                return
            await asyncio.sleep(0.02)


async def _in_thread(act, *arguments):
    return await asyncio.to_thread(act, *arguments)


async def test_killed_mid_send_the_row_comes_back_after_its_lease(connect, connection, rows, start):
    """Another worker sends it as the second attempt, without anybody's help."""
    [number] = await rows.add(connection)
    victim = start(PATIENT)
    async with _sends_blocked(connect):
        await _until_sending(connect, 1)
        victim.process.kill()
        await _in_thread(victim.ended)
        assert (await rows.read(connection, number))["status"] == "processing"
        await rows.expire(connection)
        await connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where query like 'insert into notifications.page_messages%%' and state = 'active'"
        )
    heir = start(PATIENT)
    await _in_thread(heir.until, "reap")
    await _in_thread(heir.until, "settle")
    row = await rows.read(connection, number)
    assert (row["status"], row["attempts"]) == ("sent", 2)


async def test_frozen_mid_send_its_late_write_is_refused(connect, connection, rows, start):
    """Thawed, it finds that its row has gone to another, and says so."""
    [number] = await rows.add(connection)
    frozen = start(PATIENT)
    async with _sends_blocked(connect):
        await _until_sending(connect, 1)
        frozen.signal(signal.SIGSTOP)
    await rows.expire(connection)
    await reap(connection)
    [taken] = await rows.take(connection, holder="successor")
    assert taken.attempt == 2
    before = await rows.read(connection, number)
    frozen.signal(signal.SIGCONT)
    refusal = await _in_thread(frozen.until, "refuse")
    assert (refusal["delivery"], refusal["attempt"], refusal["current_attempt"]) == (number, 1, 2)
    assert await rows.read(connection, number) == before
    frozen.signal(signal.SIGTERM)
    assert await _in_thread(frozen.ended) == 0


async def test_a_database_that_restarts_is_waited_for(connection, rows, start):
    """Every connection is cut, and the worker goes on."""
    worker = start(HASTY)
    await _in_thread(worker.until, "start")
    await rows.add(connection)
    await _in_thread(worker.until, "settle")
    await connection.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity"
        " where datname = current_database() and pid <> pg_backend_pid()"
        " and backend_type = 'client backend'"
    )
    [number] = await rows.add(connection)
    await _in_thread(worker.until, "settle")
    assert (await rows.read(connection, number))["status"] == "sent"
    worker.signal(signal.SIGINT)
    assert await _in_thread(worker.ended) == 0


async def _row_of_each(connection, rows, ids):
    found = [await rows.read(connection, number) for number in ids]
    return [(row["status"], row["attempts"], row["max_attempts"]) for row in found]


async def test_sigterm_finishes_what_runs_and_hands_back_the_rest(connect, connection, rows, start):
    """What was not started is due again at once, while the send that runs has not ended yet."""
    ids = await rows.add(connection, 4)
    worker = start(PATIENT | {"WORKERS_CONCURRENCY": "1"})
    async with _sends_blocked(connect):
        await _until_sending(connect, 1)
        worker.signal(signal.SIGTERM)
        await _in_thread(worker.until, "release")
        states = await _row_of_each(connection, rows, ids)
        assert states == [("processing", 1, 5)] + [("pending", 1, 6)] * 3
    assert await _in_thread(worker.ended) == 0
    states = await _row_of_each(connection, rows, ids)
    assert states == [("sent", 1, 5)] + [("pending", 1, 6)] * 3


async def test_sigterm_cuts_off_what_takes_too_long(connect, connection, rows, start):
    """After the deadline the send is cancelled and settled as a failed attempt."""
    [number] = await rows.add(connection)
    worker = start(PATIENT | {"WORKERS_STOP_S": "0.3"})
    async with _sends_blocked(connect):
        await _until_sending(connect, 1)
        worker.signal(signal.SIGTERM)
        assert await _in_thread(worker.ended) == 0
    row = await rows.read(connection, number)
    assert (row["status"], row["attempts"]) == ("pending", 1)
    assert row["last_error"] == "cut off, since the worker had to end"


async def test_a_second_signal_leaves_what_runs_to_its_lease(connect, connection, rows, start):
    """Nobody knows whether it arrived: it is not handed back, and the log says so."""
    ids = await rows.add(connection, 3)
    worker = start(PATIENT | {"WORKERS_CONCURRENCY": "1", "WORKERS_STOP_S": "100"})
    async with _sends_blocked(connect):
        await _until_sending(connect, 1)
        worker.signal(signal.SIGTERM)
        await _in_thread(worker.until, "stopping")
        worker.signal(signal.SIGTERM)
        left = await _in_thread(worker.until, "left-leased")
        assert left["ids"] == ids[:1]
        assert await _in_thread(worker.ended) == 0
        states = await _row_of_each(connection, rows, ids)
        assert states == [("processing", 1, 5)] + [("pending", 1, 6)] * 2


async def test_thawed_past_its_lease_it_cancels_its_send(connect, connection, rows, start):
    """The send still runs when the lease turns out to be gone; nothing is settled for it."""
    [number] = await rows.add(connection)
    frozen = start(PATIENT | {"WORKERS_LEASE_S": "12", "WORKERS_SEND_TIMEOUT_S": "11"})
    async with _sends_blocked(connect):
        await _until_sending(connect, 1)
        frozen.signal(signal.SIGSTOP)
        await rows.expire(connection)
        await reap(connection)
        [taken] = await rows.take(connection, holder="successor")
        assert (taken.id, taken.attempt) == (number, 2)
        frozen.signal(signal.SIGCONT)
        lost = await _in_thread(frozen.until, "lease-lost")
        assert lost["ids"] == [number]
        frozen.signal(signal.SIGTERM)
        assert await _in_thread(frozen.ended) == 0
    assert (await rows.read(connection, number))["holder"] == "successor"
    cursor = await connection.execute("select count(*) from notifications.page_messages")
    assert await cursor.fetchone() == (0,)


async def test_nothing_is_claimed_while_an_outcome_is_unsaved(connect, connection, rows, start):
    """The table is locked for its settle: the worker tries again and takes nothing else."""
    [first] = await rows.add(connection)
    worker = start(PATIENT | {"WORKERS_STATEMENT_S": "0.5"})
    async with _sends_blocked(connect) as holder:
        await _until_sending(connect, 1)
        await holder.execute(
            "select 1 from notifications.notification_deliveries where id = %s for update",
            (first,),
        )
        await connection.execute(
            "select pg_cancel_backend(pid) from pg_stat_activity"
            " where query like 'insert into notifications.page_messages%%'"
        )
        await _in_thread(worker.until, "settle-failed")
        [second] = await rows.add(connection)
        for failures in (2, 3):
            event = await _in_thread(worker.until, "settle-failed")
            assert event["failures"] == failures
        row = await rows.read(connection, second)
        assert (row["status"], row["attempts"]) == ("pending", 0)
    await _in_thread(worker.until, "settle")
    await _in_thread(worker.until, "settle")
    assert (await rows.read(connection, second))["status"] == "sent"
    worker.signal(signal.SIGTERM)
    assert await _in_thread(worker.ended) == 0
