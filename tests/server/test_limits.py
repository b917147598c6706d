"""Each channel has its own limit, time-out and breaker, beside what holds for a worker in all."""

import asyncio

import pytest

from server.outbox import (
    ChannelDown,
    ChannelPolicy,
    ConfigurationError,
    Delivery,
    Policy,
    RetryLater,
    Turn,
    Worker,
    drain,
)

POLICY = Policy(
    concurrency=4, lease_s=60, send_timeout_s=30, send_margin_s=1, poll_s=60, breaker_failures=3
)


class Sender:
    """A channel that counts how many sends it has at once, and acts as the test says."""

    def __init__(self, act, policy: ChannelPolicy | None = None) -> None:
        self._act = act
        self.given: list[int] = []
        self.running = self.most = 0
        if policy is not None:
            self.policy = policy

    async def send(self, delivery: Delivery) -> str | None:
        """Keeps it and acts."""
        self.given.append(delivery.id)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            return await self._act(delivery)
        finally:
            self.running -= 1


async def breathe(_delivery: Delivery) -> str:
    """Takes it, after every other task has had a turn."""
    for _ in range(20):
        await asyncio.sleep(0)
    return "msg-1"


@pytest.fixture
def turn(connect):
    """Makes a turn with these channels."""

    def make(policy=POLICY, clock=lambda: 0.0, **channels) -> Turn:
        return Turn(connect, channels, policy, holder="me", clock=clock)

    return make


async def test_a_channel_has_its_own_limit_within_the_limit_in_all(turn, connection, rows):
    """The narrow one never has more than one, and keeps nobody else from using the rest."""
    for _ in range(5):
        await rows.add(connection, channel="narrow")
        await rows.add(connection, 2)
    narrow, page = Sender(breathe, ChannelPolicy(concurrency=1)), Sender(breathe)
    tally = await turn(narrow=narrow, page=page).take(asyncio.Event())
    assert (tally.sent, narrow.most) == (15, 1)
    assert page.most == 3


async def test_a_channel_has_its_own_time_out(turn, connection, rows):
    """The quick one is cut off, the other is not."""
    [cut] = await rows.add(connection, channel="quick")
    over = asyncio.Event()

    async def hang(_delivery: Delivery) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            over.set()

    async def wait(_delivery: Delivery) -> None:
        await over.wait()

    await rows.add(connection)
    quick = Sender(hang, ChannelPolicy(send_timeout_s=0.05))
    tally = await turn(quick=quick, page=Sender(wait)).take(asyncio.Event())
    assert (tally.sent, tally.retried) == (1, 1)
    assert (await rows.read(connection, cut))["last_error"] == "no answer within 0.05 s"


def test_a_channel_whose_send_could_outlive_its_lease_is_refused(turn):
    """At start, with its name."""
    with pytest.raises(ConfigurationError, match="a send to slow may take 60 s"):
        turn(slow=Sender(breathe, ChannelPolicy(send_timeout_s=60)))


async def test_the_receivers_name_is_kept(turn, connection, rows):
    """What send returns is in the attempt log."""
    await rows.add(connection)
    await turn(page=Sender(breathe)).take(asyncio.Event())
    cursor = await connection.execute("select provider_id from notifications.delivery_attempts")
    assert await cursor.fetchall() == [("msg-1",)]


@pytest.mark.parametrize(
    ("asked", "bounds"), [(1, (25, 40)), (600, (590, 610)), (1e9, (86_000, 86_401))]
)
async def test_a_receiver_may_ask_for_a_pause(turn, connection, rows, asked, bounds):
    """Never shorter than our own, never longer than a day."""
    [number] = await rows.add(connection)

    async def later(_delivery: Delivery) -> None:
        raise RetryLater("too many", after_s=asked)

    await turn(page=Sender(later)).take(asyncio.Event())
    cursor = await connection.execute(
        "select extract(epoch from next_attempt_at - ended_at)::float8"
        " from notifications.notification_deliveries"
        " join notifications.delivery_attempts on delivery_id = id where id = %s",
        (number,),
    )
    [(pause,)] = await cursor.fetchall()
    assert bounds[0] < pause < bounds[1]


async def test_texts_that_the_database_refuses_are_settled_all_the_same(turn, connection, rows):
    """A receiver's answer may hold anything; an outcome is not lost for it."""
    [number] = await rows.add(connection)

    async def odd(_delivery: Delivery) -> None:
        raise ValueError("a\0b\ud800c")

    tally = await turn(page=Sender(odd)).take(asyncio.Event())
    assert tally.retried == 1
    assert (await rows.read(connection, number))["last_error"] == "ValueError: ab?c"


async def test_a_channel_that_cancels_its_own_send_has_failed(turn, connection, rows):
    """It does not take the others with it."""
    first, second = await rows.add(connection, 2)

    async def act(delivery: Delivery) -> None:
        if delivery.id == first:
            raise asyncio.CancelledError

    tally = await turn(page=Sender(act)).take(asyncio.Event())
    assert (tally.retried, tally.sent) == (1, 1)
    assert (await rows.read(connection, second))["status"] == "sent"


def _down_until(time: list[float], up_at: float):
    async def act(_delivery: Delivery) -> None:
        if time[0] < up_at:
            raise ChannelDown("no route")

    return act


async def test_a_channel_that_is_down_is_parked_and_then_probed(turn, connection, rows):
    """Its rows wait and spend no attempts; other channels go on; one probe, then all the rest."""
    time = [0.0]
    await rows.add(connection, 10, channel="mail")
    mail, page = Sender(_down_until(time, 100), ChannelPolicy(1, 1, 3, 30)), Sender(breathe)
    work = turn(clock=lambda: time[0], mail=mail, page=page)
    tally = await work.take(asyncio.Event())
    assert (len(mail.given), tally.retried, tally.released) == (3, 3, 7)

    time[0] = 29.9
    await rows.add(connection, 2)
    tally = await work.take(asyncio.Event())
    assert (tally.claimed, tally.sent, len(mail.given)) == (2, 2, 3)
    assert (await work.take(asyncio.Event())).claimed == 0

    time[0] = 30.0
    tally = await work.take(asyncio.Event())
    assert (tally.claimed, tally.retried, len(mail.given)) == (1, 1, 4)
    time[0] = 89.9
    assert (await work.take(asyncio.Event())).claimed == 0, "the second pause is twice as long"

    time[0] = 100.0
    assert (await work.take(asyncio.Event())).sent == 1
    assert (await work.take(asyncio.Event())).sent == 5
    cursor = await connection.execute(
        "select sum(attempts - (max_attempts - 5)) from notifications.notification_deliveries"
        " where channel = 'mail'"
    )
    assert await cursor.fetchone() == (10,), "ten attempts: three failed, one probe, six sent"


async def test_a_drain_names_the_channel_that_it_left(turn, connection, rows):
    """It does not wait for the channel, and does not say that all is done."""
    await rows.add(connection, 10, channel="mail")
    await rows.add(connection, 4)
    mail = Sender(_down_until([0.0], 1), ChannelPolicy(1, 1, 3, 30))
    report = await drain(turn(mail=mail, page=Sender(breathe)), asyncio.Event())
    assert (report.finished, report.parked, report.done.sent) == (False, ("mail",), 4)
    assert (report.left.due, report.left.due_elsewhere) == (0, 7)


async def test_a_worker_wakes_to_probe(connect, connection, rows):
    """Long before it would poll again, and without a notification."""
    await rows.add(connection)
    arrived = asyncio.Event()
    calls = 0

    async def act(_delivery: Delivery) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise ChannelDown("no route")
        arrived.set()

    policy = Policy(lease_s=60, send_timeout_s=5, send_margin_s=1, poll_s=3600, backoff_s=(0.0,))
    sender = Sender(act, ChannelPolicy(breaker_failures=1, breaker_pause_s=0.3))
    worker = Worker(Turn(connect, {"page": sender}, policy, holder="w"), wake=asyncio.Event())
    stop = asyncio.Event()
    task = asyncio.create_task(worker.run(stop))
    async with asyncio.timeout(60):
        await arrived.wait()
    stop.set()
    await task
