"""The relay: a delivery becomes a job, once, if and only if the row beside it was committed."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import psycopg
import pytest
from redis.asyncio import Redis

from server import outbox
from server.channels.queue import QueueChannel, job_id
from server.composition import check_payload, checks
from server.outbox import ChannelDown, InvalidDeliveryError, NewDelivery, Refused, RetryLater
from server.redisq import NewJob
from server.settings import Settings
from server.work import drain_until
from tests.redisq.servers import server
from tests.server.program import Program
from tests.server.queues import engine_of, until
from tests.server.receivers import delivery

SQUARE = NewDelivery("queue", "square", {"x": 7})


@pytest.fixture(scope="module")
def valkey():
    """A Valkey that the tests of this file share."""
    with server("valkey") as made:
        yield made


@pytest.fixture(params=["redisq"])
async def settings(request, valkey, tmp_path):
    """Settings for our queue on an empty server, unless a test names another engine."""
    url = f"unix://{valkey.socket}"
    async with Redis.from_url(url) as client:
        await client.flushall()
    return Settings(REDIS_URL=url, queue_engine=request.param, data_dir=tmp_path)


@pytest.fixture
def channel(settings):
    """The channel of these settings."""
    return QueueChannel.from_settings(settings, None)


async def test_a_job_exactly_if_the_row_commits(settings, connection, database):
    """One transaction writes the order and its delivery; what is rolled back leaves no job."""
    await connection.execute("create table orders (number int)")

    async def order(number: int, *, commit: bool) -> list[int]:
        async with connection.transaction(force_rollback=not commit):
            await connection.execute("insert into orders values (%s)", (number,))
            wanted = NewDelivery("queue", "square", {"x": number})
            return await outbox.enqueue(connection, [wanted], checks=checks(settings))

    [first] = await order(1, commit=True)
    await order(2, commit=False)
    with pytest.raises(psycopg.errors.UndefinedTable):
        await _order_that_fails(connection)
    report = await drain_until(settings, database, asyncio.Event(), max_s=None)
    assert report.done.sent == 1
    async with engine_of(settings) as engine:
        assert (await engine.depth())["ready"] == 1
        shown = await outbox.show_delivery(connection, first)
        [attempt] = shown.attempts
        job = await engine.get(attempt.provider_id)
    assert (job.task, job.payload, job.state) == ("square", {"x": 1}, "ready")


async def _order_that_fails(connection):
    async with connection.transaction():
        await outbox.enqueue(connection, [SQUARE])
        await connection.execute("insert into nowhere values (1)")


@pytest.mark.parametrize("settings", ["redisq", "bullmq"], indirect=True)
async def test_a_hand_over_that_is_repeated_is_the_same_job(
    settings, channel, connection, database, rows
):
    """A worker dies after the hand-over and before it could write that down: one job."""
    [number] = await outbox.enqueue(connection, [SQUARE])
    [held] = await outbox.claim(connection, holder="a", channels=["queue"], limit=1, lease_s=300)
    id_ = await channel.send(held)
    # Nothing settles it: its holder is gone, and the lease runs out.
    await rows.expire(connection)
    report = await drain_until(settings, database, asyncio.Event(), max_s=None)
    row = await rows.read(connection, number)
    assert (report.done.sent, row["status"], row["attempts"]) == (1, "sent", 2)
    async with engine_of(settings) as engine:
        assert sum((await engine.depth()).values()) == 1
        assert (await engine.get(id_)).payload == {"x": 7}


@contextlib.asynccontextmanager
async def _swallowing(socket: str, word: bytes) -> AsyncIterator[int]:
    """Leads to the server, but brings no answer back once `word` was sent; the port."""
    swallowing = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_unix_connection(socket)

        async def back() -> None:
            while data := await from_server.read(65_536):
                if not swallowing.is_set():
                    writer.write(data)

        answering = asyncio.create_task(back())
        sent = b""
        try:
            with contextlib.suppress(ConnectionError):
                while data := await reader.read(65_536):
                    sent += data
                    if word in sent:
                        swallowing.set()
                    to_server.write(data)
        finally:
            answering.cancel()
            to_server.close()
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listening:
        yield listening.sockets[0].getsockname()[1]


async def test_a_worker_that_is_killed_in_the_middle_of_a_hand_over(
    settings, valkey, connection, database, rows
):
    """The job is in the queue, the worker has not heard of it and is no more: one job."""
    [number] = await outbox.enqueue(connection, [SQUARE])
    async with engine_of(settings) as engine, _swallowing(valkey.socket, b"delivery-") as port:
        # So that the server knows the script, and the very first try is one that is taken.
        await engine.enqueue(NewJob(task="echo", id="before"))
        worker = Program("work", DATABASE_URL=database, REDIS_URL=f"redis://127.0.0.1:{port}")
        try:

            async def handed_over():
                return (await engine.depth())["ready"] == 2

            await until(handed_over)
            worker.process.kill()
        finally:
            worker.close()
        row = await rows.read(connection, number)
        assert row["status"] != "sent"
        await rows.expire(connection)
        await rows.make_due(connection)
        report = await drain_until(settings, database, asyncio.Event(), max_s=None)
        row = await rows.read(connection, number)
        assert (report.done.sent, row["status"]) == (1, "sent")
        assert (await engine.depth())["ready"] == 2


async def test_a_queue_that_is_away_is_the_channels_fault(settings, tmp_path):
    """The breaker counts it, and the delivery waits."""
    away = QueueChannel(settings, f"unix://{tmp_path}/nobody")
    with pytest.raises(ChannelDown):
        await away.send(delivery("queue", "square", {"x": 7}))


async def test_a_queue_without_room_is_tried_later(settings, channel):
    """Memory that is full says nothing against the channel."""
    async with Redis.from_url(settings.redis_url) as client:
        await client.config_set("maxmemory", 1)
        try:
            with pytest.raises(RetryLater) as caught:
                await channel.send(delivery("queue", "square", {"x": 7}))
        finally:
            await client.config_set("maxmemory", 0)
    assert caught.value.after_s > 0


@pytest.mark.parametrize(
    ("task", "payload"),
    [("sqare", {}), ("crash", {}), ("", {}), ("echo", {"value": "x" * 1_048_577})],
    ids=["unknown", "of a browser", "none", "too large"],
)
async def test_what_no_queue_takes_is_refused(channel, connection, settings, task, payload):
    """When it is enqueued, and, should one have come in by another way, when it is sent."""
    assert check_payload("queue", task, payload)
    with pytest.raises(InvalidDeliveryError):
        await outbox.enqueue(
            connection, [NewDelivery("queue", task or "x", payload)], checks=checks(settings)
        )
    with pytest.raises(Refused):
        await channel.send(delivery("queue", task, payload))


async def test_ids_of_two_databases_differ(channel):
    """A database that was made anew counts from 1 again, and its deliveries are other ones."""
    one, other = (
        delivery("queue", "square", {"x": 7}),
        delivery(
            "queue", "square", {"x": 7}, created_at=delivery("a", "b", {}).due_at.replace(year=2027)
        ),
    )
    assert job_id(one) != job_id(other)
    assert await channel.send(one) == await channel.send(one) == job_id(one)


def test_without_a_server_there_is_no_channel():
    """Its deliveries wait for a worker that has one."""
    assert QueueChannel.from_settings(Settings(), None) is None
