"""A worker exchanges outcomes for new deliveries while others are on their way."""

import asyncio
import contextlib
from dataclasses import replace

import pytest

from server.outbox import ChannelPolicy, Delivery, Policy, Turn, Worker
from server.outbox import flight as flight_module
from server.outbox.flight import Cut, Flight
from server.outbox.lease import Leases
from server.outbox.policy import next_ahead, wants_more
from tests.server.test_keeper import _delivery

POLICY = Policy(batch=4, concurrency=4, lease_s=60, send_timeout_s=20, send_margin_s=1, poll_s=3600)
PATIENCE_S = 60


class Sender:
    """Lets a send end when the test says so, or at once."""

    def __init__(self, policy: ChannelPolicy | None = None) -> None:
        self.given: asyncio.Queue[Delivery] = asyncio.Queue()
        self.held: dict[int, asyncio.Event] = {}
        if policy is not None:
            self.policy = policy

    def hold(self, number: int) -> asyncio.Event:
        """Lets the send of this one last until the event is set."""
        return self.held.setdefault(number, asyncio.Event())

    async def send(self, delivery: Delivery) -> None:
        """Takes it."""
        self.given.put_nowait(delivery)
        if delivery.id in self.held:
            await self.held[delivery.id].wait()

    async def got(self, count: int) -> list[int]:
        """The ids of the next so many."""
        async with asyncio.timeout(PATIENCE_S):
            return [(await self.given.get()).id for _ in range(count)]


@pytest.fixture
async def working(connect):
    """Starts a worker on these channels, and stops it after the test."""
    stop, wake = asyncio.Event(), asyncio.Event()
    tasks = []

    def start(policy=POLICY, **channels) -> asyncio.Event:
        worker = Worker(Turn(connect, channels, policy, holder="w"), wake=wake)
        tasks.append(asyncio.create_task(worker.run(stop)))
        return wake

    yield start
    stop.set()
    await asyncio.gather(*tasks)


async def _until(connection, number: int, status: str, rows) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while (await rows.read(connection, number))["status"] != status:  # noqa: ASYNC110 - in the database
            await asyncio.sleep(0.02)


async def test_a_slow_send_holds_up_nobody(working, connection, rows):
    """What comes after it is claimed, sent and settled while it goes on."""
    ids = await rows.add(connection, 13)
    page = Sender()
    over = page.hold(ids[0])
    working(page=page)
    assert sorted(await page.got(13)) == ids
    for number in ids[1:]:
        await _until(connection, number, "sent", rows)
    assert (await rows.read(connection, ids[0]))["status"] == "processing"
    over.set()
    await _until(connection, ids[0], "sent", rows)


async def test_a_narrow_channel_holds_up_no_other(working, connection, rows):
    """It takes what it can and is claimed for no further, and the other one goes on."""
    narrow_ids = await rows.add(connection, 9, channel="narrow")
    ids = await rows.add(connection, 20)
    narrow, page = Sender(ChannelPolicy(concurrency=1, send_timeout_s=20)), Sender()
    over = narrow.hold(narrow_ids[0])
    working(narrow=narrow, page=page)
    assert sorted(await page.got(20)) == ids
    assert await narrow.got(1) == narrow_ids[:1]
    states = [(await rows.read(connection, number))["status"] for number in narrow_ids]
    assert states.count("pending") >= 9 - POLICY.batch - 1, "no more than a batch waits for it"
    over.set()
    assert await narrow.got(8) == narrow_ids[1:]


async def test_a_notification_is_heard_while_a_send_goes_on(working, connection, rows):
    """There is room for more, so more is claimed."""
    [slow] = await rows.add(connection)
    page = Sender()
    over = page.hold(slow)
    wake = working(page=page)
    assert await page.got(1) == [slow]
    [number] = await rows.add(connection)
    wake.set()
    assert await page.got(1) == [number]
    over.set()


async def test_a_full_house_claims_nothing(working, connection, rows):
    """While every place is taken by a slow send, the rest is left to other workers."""
    ids = await rows.add(connection, 12)
    page = Sender()
    events = [page.hold(number) for number in ids]
    working(page=page)
    assert await page.got(4) == ids[:4]
    assert len(await rows.take(connection, holder="other")) == 8
    for event in events:
        event.set()


async def test_a_send_that_fails_in_our_own_code_ends_the_worker(connect, connection, rows):
    """A fault of ours is not taken for an outcome, and does not go by unseen."""
    await rows.add(connection, 2)
    turn = Turn(connect, {"page": Sender()}, POLICY, holder="w")

    def broken() -> float:
        raise ZeroDivisionError

    turn.chance = broken
    with pytest.raises(ZeroDivisionError):
        await Worker(turn, wake=asyncio.Event()).run(asyncio.Event())
    assert turn.leases.held() == []


async def test_one_delivery_under_two_attempts():
    """A lost lease came back to the same worker: only the send of the lost attempt is cancelled."""
    hang = asyncio.Event()
    ended = []

    async def send(delivery: Delivery) -> None:
        try:
            await hang.wait()
        except asyncio.CancelledError:
            ended.append((delivery.attempt, flight.cut_by(delivery)))

    flight = Flight(
        send, ended.append, concurrency=9, limits={"page": 9}, timeouts={"page": PATIENCE_S}
    )
    first = _delivery(1)
    second = Delivery(1, "page", "p", {}, 2, 5, None, first.created_at, first.due_at, first.due_at)
    flight.admit([first, second])
    await asyncio.sleep(0)
    flight.cut(Cut.LOST, [first])
    await flight.until(lambda: flight.aboard == 1)
    assert ended == [(1, Cut.LOST)]
    hang.set()
    await flight.until(lambda: flight.aboard == 0)
    assert ended == [(1, Cut.LOST)]


async def test_what_is_cut_before_anything_was_sent_is_told():
    """It can be handed back, and what waits behind it goes on."""
    told, sent = [], []

    async def send(delivery: Delivery) -> None:
        if delivery.id == 1:
            await asyncio.Event().wait()
        sent.append(delivery.id)

    flight = Flight(
        send, told.append, concurrency=1, limits={"page": 9}, timeouts={"page": PATIENCE_S}
    )
    flight.admit([_delivery(1), _delivery(2)])
    await asyncio.sleep(0)
    flight.cut(Cut.STOPPED)
    await flight.until(lambda: flight.aboard == 0)
    assert ([one.id for one in told], sent) == ([1], [2])


async def test_a_cut_hits_no_other_send():
    """Not the next one either, for which its place becomes free."""
    cuts = []

    async def send(delivery: Delivery) -> None:
        if delivery.id == 1:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
        await asyncio.sleep(0)
        task = asyncio.current_task()
        cuts.append((delivery.id, flight.cut_by(delivery), delivery.id > 1 and task.cancelling()))

    flight = Flight(
        send, cuts.append, concurrency=1, limits={"page": 1}, timeouts={"page": PATIENCE_S}
    )
    flight.admit([_delivery(1), _delivery(2)])
    await asyncio.sleep(0)
    flight.cut(Cut.LOST)
    await flight.until(lambda: flight.aboard == 0)
    assert cuts == [(1, Cut.LOST, False), (2, None, 0)]


async def test_sends_that_never_wait_leave_the_loop_its_turn(monkeypatch):
    """And take no task each."""
    monkeypatch.setattr(flight_module, "LONGEST_STEP_S", -1.0)
    order, tasks = [], set()

    async def send(delivery: Delivery) -> None:
        order.append(delivery.id)
        tasks.add(asyncio.current_task())

    flight = Flight(
        send, order.append, concurrency=1, limits={"page": 1}, timeouts={"page": PATIENCE_S}
    )
    flight.admit([_delivery(number) for number in range(9)])
    others = asyncio.create_task(asyncio.sleep(0))
    others.add_done_callback(lambda _: order.append("another"))
    await flight.until(lambda: flight.aboard == 0)
    assert order.index("another") < len(order) - 1
    assert len(tasks) == 1


def test_leases_are_held_by_attempt():
    """What ends of an older attempt takes nothing from the newer one."""
    leases = Leases()
    old = _delivery(1)
    new = Delivery(1, "page", "p", {}, 2, 5, None, old.created_at, old.due_at, old.due_at)
    leases.hold([old], 10.0)
    asked = leases.held()
    leases.hold([new], 20.0)
    leases.drop([old])
    assert leases.renewed(asked, set(), 30.0) == []
    assert (leases.ends(old), leases.ends(new)) == (None, 20.0)


def test_how_far_a_worker_looks_ahead():
    """Up to a batch while its sends are quicker than the database; else not at all."""
    ahead, seen = 0, []
    for _ in range(6):
        ahead = next_ahead(POLICY, ahead, aboard=ahead, landed=ahead)
        seen.append(ahead)
    assert seen == [1, 2, 4, 4, 4, 4]
    assert next_ahead(POLICY, 4, aboard=4, landed=1) == 1
    assert next_ahead(POLICY, 1, aboard=2, landed=0) == 0
    assert wants_more(POLICY, running=2, waiting=7, ahead=0, asked=0)
    assert not wants_more(POLICY, running=3, waiting=0, ahead=2, asked=0)
    assert wants_more(POLICY, running=3, waiting=0, ahead=3, asked=0)
    assert not wants_more(POLICY, running=3, waiting=1, ahead=4, asked=0)


def test_when_a_worker_claims_while_it_waits_for_a_claim():
    """Only if its sends end as fast as a claim brings more; never a third time."""
    assert wants_more(POLICY, running=4, waiting=0, ahead=4, asked=1)
    assert not wants_more(POLICY, running=0, waiting=0, ahead=3, asked=1)
    assert not wants_more(POLICY, running=4, waiting=1, ahead=4, asked=1)
    assert not wants_more(POLICY, running=0, waiting=0, ahead=4, asked=2)
    one = replace(POLICY, exchanges=1)
    assert not wants_more(one, running=0, waiting=0, ahead=4, asked=1)
