"""A drain ends when nothing is due, says what it left, and is safe beside others."""

import asyncio

import pytest

from server.outbox import ChannelPolicy, Policy, Turn, drain

POLICY = Policy(batch=10, concurrency=5, lease_s=60, send_timeout_s=2, send_margin_s=1)


class Sender:
    """Takes everything, and does what the test says before."""

    def __init__(self, act=None) -> None:
        self.given: list[int] = []
        self._act = act

    async def send(self, delivery) -> None:
        """Takes it."""
        self.given.append(delivery.id)
        if self._act:
            self._act()


@pytest.fixture
def turn(connect):
    """Makes a turn with one channel."""

    def make(sender, **options):
        return Turn(connect, {"page": sender}, POLICY, holder="d", **options)

    return make


async def test_it_empties_the_queue_and_reports(turn, connection, rows):
    """More than one batch; what is for others or for later is left and told."""
    ids = await rows.add(connection, 37)
    await rows.add(connection, 2, delay_s=60)
    await rows.add(connection, 3, channel="pigeon")
    sender = Sender()
    report = await drain(turn(sender), asyncio.Event())
    assert sorted(sender.given) == ids
    assert (report.finished, report.done.sent) == (True, 37)
    assert (report.left.due, report.left.due_elsewhere, report.left.waiting) == (0, 3, 2)
    assert report.left.next_due_at is not None


async def test_it_gives_back_what_a_killed_run_left(turn, connection, rows):
    """Without a worker somewhere, a drain is the reaper too."""
    lost = await rows.take_one(connection)
    await rows.expire(connection)
    report = await drain(turn(Sender()), asyncio.Event())
    assert (report.done.reaped, report.done.sent) == (1, 1)
    assert (await rows.read(connection, lost.id))["status"] == "sent"


async def test_two_at_once_share_the_work(turn, connection, rows):
    """Each delivery is sent once."""
    ids = await rows.add(connection, 120)
    one, two = Sender(), Sender()
    await asyncio.gather(drain(turn(one), asyncio.Event()), drain(turn(two), asyncio.Event()))
    assert sorted(one.given + two.given) == ids


async def test_time_that_runs_out_claims_nothing_more(turn, connection, rows):
    """The claimed batch is finished; the rest is left due, untouched, and the report says so."""
    await rows.add(connection, 30)
    time = [0.0]

    def pass_time() -> None:
        time[0] += 0.5

    sender = Sender(pass_time)
    report = await drain(turn(sender), asyncio.Event(), max_s=6, clock=lambda: time[0])
    # 6 s hold three rounds of 2 s: a whole batch of ten. It takes 5 s, and then nothing fits in.
    assert len(sender.given) == 10
    assert (report.finished, report.left.due) == (False, 20)


async def test_a_short_time_takes_a_smaller_batch(turn, connection, rows):
    """Never more than can be sent in what is left, even at the slowest."""
    await rows.add(connection, 30)
    time = [0.0]

    def pass_time() -> None:
        time[0] += 1

    sender = Sender(pass_time)
    await drain(turn(sender), asyncio.Event(), max_s=3, clock=lambda: time[0])
    assert len(sender.given) == 5


async def test_a_time_too_short_for_any_send_sends_nothing_and_says_so(turn, connection, rows):
    """It keeps house all the same, and names what it could not do."""
    await rows.add(connection, 3)
    sender = Sender()
    report = await drain(turn(sender), asyncio.Event(), max_s=1)
    assert sender.given == []
    assert (report.finished, report.left.due, report.too_short_for) == (False, 3, {"page": 2})


async def test_a_time_too_short_with_nothing_due_is_no_fault(turn):
    """There was nothing to send."""
    report = await drain(turn(Sender()), asyncio.Event(), max_s=1)
    assert (report.finished, report.too_short_for) == (True, {})


async def test_a_slow_channel_does_not_keep_the_others_from_a_short_drain(
    connect, connection, rows
):
    """What may take longer than the time that is left is left, unclaimed, and named."""
    mails = await rows.add(connection, 2, channel="email")
    await rows.add(connection, 12)
    page, email = Sender(), Sender()
    email.policy = ChannelPolicy(send_timeout_s=50)
    channels = {"page": page, "email": email}
    turn = Turn(connect, channels, POLICY, holder="d")
    report = await drain(turn, asyncio.Event(), max_s=10, clock=lambda: 0.0)
    assert (len(page.given), email.given) == (12, [])
    assert (report.finished, report.left.due, report.too_short_for) == (False, 2, {"email": 50})
    assert {(await rows.read(connection, one))["attempts"] for one in mails} == {0}

    report = await drain(turn, asyncio.Event(), max_s=60, clock=lambda: 0.0)
    assert (report.finished, sorted(email.given), report.too_short_for) == (True, mails, {})


async def test_a_slow_channel_is_left_once_the_time_for_it_is_gone(connect, connection, rows):
    """What began in time is finished; the rest of it waits, and the quick ones still go."""
    await rows.add(connection, 3, channel="email")
    await rows.add(connection, 3)
    time = [0.0]

    def pass_time() -> None:
        time[0] += 4

    page, email = Sender(), Sender(pass_time)
    email.policy = ChannelPolicy(send_timeout_s=6, concurrency=1)
    turn = Turn(connect, {"page": page, "email": email}, POLICY, holder="d")
    report = await drain(turn, asyncio.Event(), max_s=9, clock=lambda: time[0])
    assert (len(page.given), len(email.given)) == (3, 1)
    assert (report.finished, report.left.due_channels) == (False, ["email"])
    assert report.too_short_for == {"email": 6}


async def test_what_others_hold_is_not_waited_for(turn, connection, rows):
    """It ends although a row is being worked on."""
    await rows.take_one(connection, holder="other")
    report = await drain(turn(Sender()), asyncio.Event())
    assert (report.finished, report.done.claimed) == (True, 0)


async def test_stopping_ends_it_like_time(turn, connection, rows):
    """Ctrl-C finishes what has begun."""
    await rows.add(connection, 30)
    stop = asyncio.Event()
    report = await drain(turn(Sender(stop.set)), stop)
    assert not report.finished
    assert report.done.sent + report.done.released == 10
