"""A claim costs the same whatever lies beside it: large tables, and an old snapshot held open.

`make test` plays it with 20,000 waiting, 90,000 sent and 90,000 dead; WORKERS_TEST_FULL=1 with
100,000 and a million of each. What is judged is what the claim reads, never how long it takes.
"""

import os

import pytest

from server.outbox import (
    Settlement,
    Status,
    depth_differences,
    mend_depth,
    pause_channel,
    purge,
    reap,
    settle,
)
from server.outbox.retention import Retention
from server.outbox.statements import statement
from tests.server.reading import Read, reading

FULL = os.environ.get("WORKERS_TEST_FULL") == "1"
ENDED, WAITING = (1_000_000, 100_000) if FULL else (90_000, 20_000)
TABLE = "notifications.notification_deliveries"
FOREIGN_ROWS = 100_000 if FULL else 20_000
BATCH = 25
ROUNDS = 40

pytestmark = pytest.mark.timeout(600 if FULL else 300)

FILL = f"""
insert into {TABLE} (channel, recipient, payload, status, attempts, created_at, next_attempt_at,
                     settled_at)
select 'page', 'page', '{{"text": "x"}}',
       case when n <= %(ended)s then 'sent' when n <= 2 * %(ended)s then 'dead' else 'pending' end,
       case when n <= %(ended)s then 1 when n <= 2 * %(ended)s then 5 else 0 end,
       now() - interval '1 hour', now() - interval '1 hour' + n * interval '1 millisecond',
       case when n <= 2 * %(ended)s then now() - n * interval '1 second' end
  from generate_series(1, 2 * %(ended)s + %(waiting)s) as n
"""


async def _fill(connection) -> None:
    """One statement with the triggers disabled, and the depth made true afterwards."""
    await connection.execute(f"alter table {TABLE} disable trigger user".encode())
    await connection.execute(FILL.encode(), {"ended": ENDED, "waiting": WAITING})
    await connection.execute(f"alter table {TABLE} enable trigger user".encode())
    assert await mend_depth(connection) == {
        Status.SENT: ENDED,
        Status.DEAD: ENDED,
        Status.PENDING: WAITING,
    }
    await connection.execute(f"vacuum (analyze) {TABLE}".encode())


async def _explained(connection, name, parameters) -> int:
    """Runs a statement and returns how many pages it touched, with what it calls."""
    cursor = await connection.execute(
        b"explain (analyze, buffers, format json, timing off) " + statement(name), parameters
    )
    [([plan],)] = await cursor.fetchall()
    return plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"]


async def _claimed(connection, channels=("page",)) -> tuple[Read, int]:
    """Claims a batch; returns what that read, and the pages that it touched."""
    parameters = {"holder": "a", "channels": list(channels), "limit": BATCH, "lease_s": 300}
    async with reading(connection) as read:
        pages = await _explained(connection, "claim", parameters)
    return read, pages


async def _settle_all(connection, *, sent: bool) -> None:
    cursor = await connection.execute(
        f"select id, attempts from {TABLE} where status = 'processing'".encode()
    )
    status = Status.SENT if sent else Status.DEAD
    settlements = [
        Settlement(n, attempt, status, None if sent else "no")
        for n, attempt in await cursor.fetchall()
    ]
    async with reading(connection) as read:
        await settle(connection, settlements)
    assert (read.rows, read.whole) == (2 * len(settlements), 0), read


async def test_a_claim_reads_no_more_in_a_large_table(connect, connection, rows):
    """Nor while another transaction keeps every dead row from being swept."""
    await rows.add(connection, 4 * BATCH)
    await connection.execute(f"analyze {TABLE}".encode())
    small, small_pages = await _claimed(connection)
    await _settle_all(connection, sent=True)

    await _fill(connection)
    for _ in range(3):
        read, pages = await _claimed(connection)
        assert read.rows <= 4 * BATCH, (read, small)
        assert pages <= 4 * small_pages + 100, (pages, small_pages, read)
        assert not read.whole, read
    await _settle_all(connection, sent=True)

    async with connect() as other, other.transaction():
        await other.execute("set transaction isolation level repeatable read")
        await other.execute("select 1")
        worst_rows = worst_pages = 0
        for number in range(ROUNDS):
            read, pages = await _claimed(connection)
            worst_rows, worst_pages = max(worst_rows, read.rows), max(worst_pages, pages)
            await _settle_all(connection, sent=number % 2 == 0)
            assert not read.whole, read
        # Rows that left the head of the index stay in it while they may be seen by somebody, but
        # what the claim looks at is what it takes.
        assert worst_rows <= 4 * BATCH, worst_rows
        assert worst_pages <= 4 * small_pages + 100 + ROUNDS * BATCH, (worst_pages, small_pages)
    assert await depth_differences(connection) == {}


FOREIGN = f"""
insert into {TABLE} (channel, recipient, payload, created_at, next_attempt_at)
select (array['paused', 'stranger'])[n %% 2 + 1], 'x', '{{"text": "x"}}',
       now() - interval '2 hours', now() - interval '2 hours' + n * interval '1 millisecond'
  from generate_series(1, %(foreign)s) as n
"""


@pytest.mark.parametrize("analysed", ["never", "when-empty", "when-full"])
async def test_a_claim_reads_nothing_that_is_not_for_it(connection, rows, analysed):
    """However much is due before: of a paused channel, of one that it does not know or has parked.

    Whatever the planner believes: that there is nothing, or that it is all of one channel. And
    whatever it has seen: the plans are those that it made when there was next to nothing.
    """
    channels = ["mail", "page", "paused"]
    await rows.add(connection, 1)
    await _claimed(connection, channels)
    await _settle_all(connection, sent=True)
    if analysed == "when-empty":
        await rows.add(connection, 3)
        await connection.execute(f"analyze {TABLE}".encode())
    await pause_channel(connection, "paused")
    await connection.execute(f"alter table {TABLE} disable trigger user".encode())
    await connection.execute(FOREIGN.encode(), {"foreign": FOREIGN_ROWS})
    await connection.execute(f"alter table {TABLE} enable trigger user".encode())
    await rows.add(connection, 3 * BATCH)
    await rows.add(connection, BATCH, channel="mail")
    if analysed == "when-full":
        await connection.execute(f"analyze {TABLE}".encode())
    for _ in range(3):
        read, pages = await _claimed(connection, channels)
        assert read.rows <= 4 * BATCH, read
        assert pages <= 40 * BATCH, (pages, read)
        assert not read.whole, read
        await _settle_all(connection, sent=True)
    for name in ("next_due", "depth"):
        parameters = {"channels": channels} if name == "next_due" else {}
        pages = await _explained(connection, name, parameters)
        assert pages <= 40 * BATCH, (name, pages)


async def test_reaping_and_purging_read_no_more_either(connection):
    """By their own indexes, whatever else is there."""
    await _fill(connection)
    for name, parameters in {
        "reap": {"limit": 200},
        "purge_sent": {"keep_s": 3e8, "limit": 500},
        "purge_ended": {"keep_s": 3e8, "limit": 500, "status": "failed"},
        "next_due": {"channels": ["page"]},
        "depth": {},
    }.items():
        cursor = await connection.execute(b"explain " + statement(name), parameters)
        plan = "\n".join(line for (line,) in await cursor.fetchall())
        assert "Seq Scan on notification_deliveries" not in plan, (name, plan)
    assert await reap(connection) == []
    done = await purge(connection, Retention(sent_s=3e8, ended_s=3e8))
    assert done.total == 0
    done = await purge(
        connection, Retention(sent_s=0, ended_s=3e8), batch=100, max_s=0, clock=lambda: 0
    )
    assert done.sent == 100
    assert await depth_differences(connection) == {}
