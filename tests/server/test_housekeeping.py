"""What is old goes, the depth is sampled once a minute, and both stay out of everybody's way."""

import asyncio
from datetime import timedelta

import pytest

from server.outbox import (
    ConfigurationError,
    Policy,
    Retention,
    Settlement,
    Status,
    Turn,
    Worker,
    depth,
    depth_differences,
    depth_history,
    drain,
    housekeeping,
    mend_depth,
    purge,
    sample_depth,
    settle,
)

TABLE = "notifications.notification_deliveries"
DAY = 24 * 3600.0


async def _end(connection, rows, status: Status, count: int, days_ago: float) -> list[int]:
    """Deliveries that ended so many days ago, each with an attempt in the log."""
    await rows.add(connection, count)
    batch = await rows.take(connection, count)
    await settle(connection, [Settlement(d.id, d.attempt, status, "why") for d in batch])
    ids = [d.id for d in batch]
    await connection.execute(
        f"update {TABLE} set settled_at = settled_at - make_interval(days => %s)"
        " where id = any(%s)".encode(),
        (days_ago, ids),
    )
    return ids


async def _left(connection) -> list[int]:
    cursor = await connection.execute(f"select id from {TABLE} order by id".encode())
    return [number for (number,) in await cursor.fetchall()]


async def test_each_end_is_kept_for_its_time(connection, rows):
    """Sent for two weeks, failed and dead for three months; what has not ended for ever."""
    await _end(connection, rows, Status.SENT, 3, 15)
    kept = await _end(connection, rows, Status.SENT, 2, 13)
    await _end(connection, rows, Status.FAILED, 1, 91)
    kept += await _end(connection, rows, Status.FAILED, 2, 89)
    await _end(connection, rows, Status.DEAD, 2, 91)
    kept += await _end(connection, rows, Status.DEAD, 1, 89)
    kept += await rows.add(connection, 2)
    await connection.execute(f"update {TABLE} set created_at = '2001-01-01'".encode())
    done = await purge(connection, Retention())
    assert (done.sent, done.failed, done.dead, done.finished) == (3, 1, 2, True)
    assert await _left(connection) == sorted(kept)
    assert await depth_differences(connection) == {}


async def test_attempts_go_with_their_delivery(connection, rows):
    """And only with theirs."""
    await _end(connection, rows, Status.SENT, 3, 15)
    [kept] = await _end(connection, rows, Status.SENT, 1, 1)
    await purge(connection, Retention())
    cursor = await connection.execute("select delivery_id from notifications.delivery_attempts")
    assert await cursor.fetchall() == [(kept,)]


async def test_batches_are_small_and_time_bounds_them(connection, rows):
    """One batch of each kind at least, and then as the clock says."""
    await _end(connection, rows, Status.SENT, 7, 15)
    await _end(connection, rows, Status.DEAD, 7, 91)
    done = await purge(connection, Retention(), batch=3, max_s=0, clock=lambda: 0)
    assert (done.sent, done.dead, done.finished) == (3, 3, False)
    done = await purge(connection, Retention(), batch=3)
    assert (done.sent, done.dead, done.finished) == (4, 4, True)


async def test_the_oldest_go_first_and_locked_rows_are_left(connect, rows):
    """A purge waits for nobody."""
    async with connect() as one, connect() as two:
        ids = await _end(one, rows, Status.SENT, 4, 20)
        young = await _end(one, rows, Status.SENT, 2, 15)
        async with two.transaction():
            await two.execute(f"select 1 from {TABLE} where id = %s for update".encode(), ids[:1])
            done = await purge(one, Retention(), batch=3, max_s=0, clock=lambda: 0)
            assert done.sent == 3
        assert await _left(one) == [ids[0], *young]


async def test_messages_of_the_page_go_too(connection):
    """With what was sent."""
    for number, days in ((1, 15), (2, 13)):
        await connection.execute(
            "insert into notifications.page_messages (delivery_id, recipient, text, attempt,"
            " received_at) values (%s, 'p', 't', 1, now() - make_interval(days => %s))",
            (number, days),
        )
    assert (await purge(connection, Retention())).messages == 1


async def test_a_negative_time_is_refused():
    """It would delete what has just ended."""
    with pytest.raises(ConfigurationError, match="sent_s"):
        Retention(sent_s=-1)


async def test_one_sample_a_minute(connection, rows):
    """Whoever comes second in a minute takes none."""
    await rows.add(connection, 3)
    await rows.add(connection, 2, delay_s=60)
    taken = [await sample_depth(connection) for _ in range(3)]
    step_s, samples = await depth_history(connection, span_s=3600)
    assert (step_s, len(samples)) == (60, sum(taken))
    assert 1 <= sum(taken) <= 2
    assert (samples[0].pending, samples[0].due, samples[0].sent) == (5, 3, 0)
    assert (samples[0].at.second, samples[0].at.microsecond) == (0, 0)


async def test_many_samplers_at_once_take_one(connect):
    """No error, no second row."""

    async def take() -> bool:
        async with connect() as connection:
            return await sample_depth(connection)

    taken = await asyncio.gather(*(take() for _ in range(5)))
    async with connect() as connection:
        assert len((await depth_history(connection, span_s=3600))[1]) == sum(taken)


async def test_samples_are_kept_for_a_week(connection):
    """Those that are older go with the next sample."""
    await connection.execute(
        "insert into notifications.depth_history select date_trunc('minute', now())"
        " - make_interval(mins => m), 1, 1, 0, 0, 0, 0, 1, null"
        " from generate_series(60, 8 * 24 * 60, 60) as m"
    )
    await sample_depth(connection)
    cursor = await connection.execute(
        "select now() - min(minute), count(*) from notifications.depth_history"
    )
    [(oldest, count)] = await cursor.fetchall()
    assert oldest < timedelta(days=7, minutes=2)
    assert count in {7 * 24, 7 * 24 + 1}


async def test_a_long_history_is_thinned_out(connection):
    """The last sample of each step, and gaps stay gaps."""
    await connection.execute(
        "insert into notifications.depth_history select date_trunc('minute', now())"
        " - make_interval(mins => m), m, 0, 0, 0, 0, 0, 1, null"
        " from generate_series(0, 7 * 24 * 60 - 1) as m where m not between 1000 and 2000"
    )
    step_s, samples = await depth_history(connection, span_s=7 * DAY, most=100)
    assert step_s == 60 * 101
    assert 80 <= len(samples) <= 101
    times = [s.at for s in samples]
    assert times == sorted(times)
    assert samples[-1].pending == 0
    assert len((await depth_history(connection, span_s=3600))[1]) in {59, 60}


async def test_the_worker_keeps_house(connect, connection, rows):
    """At its start, with the retention that it was given."""
    await _end(connection, rows, Status.SENT, 2, 3)
    stop = asyncio.Event()
    turn = Turn(connect, {}, Policy(poll_s=3600), holder="w")
    worker = Worker(turn, wake=asyncio.Event(), retention=Retention(sent_s=2 * DAY))
    running = asyncio.create_task(worker.run(stop))
    try:
        async with asyncio.timeout(60):
            while (await depth(connection)).sent:
                pass
    finally:
        stop.set()
        await running
    assert (await depth_history(connection, span_s=3600))[1]


async def test_a_drain_keeps_house_too(connect, connection, rows):
    """Where there is no worker nobody else would."""
    await _end(connection, rows, Status.SENT, 2, 15)
    await drain(Turn(connect, {}, Policy(), holder="d"), asyncio.Event())
    assert (await depth(connection)).sent == 0
    assert (await depth_history(connection, span_s=3600))[1]


async def test_housekeeping_with_nothing_to_do_writes_nothing(connection, rows):
    """Once the minute has its sample: no transaction number is drawn."""
    await rows.add(connection, 3)
    await connection.execute(
        "insert into notifications.depth_history select date_trunc('minute', now())"
        " + make_interval(mins => m), 1, 1, 0, 0, 0, 0, 1, null from generate_series(0, 3) as m"
    )
    async with connection.transaction():
        await housekeeping(connection)
        cursor = await connection.execute("select pg_current_xact_id_if_assigned()")
        assert await cursor.fetchone() == (None,)


async def test_a_wrong_depth_is_found_and_mended(connection, rows):
    """Whatever was done with the triggers disabled."""
    await rows.add(connection, 4)
    await rows.take(connection, 1)
    await connection.execute(f"alter table {TABLE} disable trigger user".encode())
    await connection.execute(f"delete from {TABLE} where status = 'processing'".encode())
    await rows.add(connection, 2)
    await connection.execute(f"alter table {TABLE} enable trigger user".encode())
    wrong = {Status.PENDING: (3, 5), Status.PROCESSING: (1, 0)}
    assert await depth_differences(connection) == wrong
    assert await mend_depth(connection) == {Status.PENDING: 2, Status.PROCESSING: -1}
    assert await depth_differences(connection) == {}
    assert await mend_depth(connection) == {}
