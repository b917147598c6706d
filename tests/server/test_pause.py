"""A paused channel's deliveries wait and spend no attempts; the others go on."""

import asyncio

from server.outbox import (
    Policy,
    Turn,
    Worker,
    claim,
    drain,
    enqueue,
    listen,
    pause_channel,
    resume_channel,
)
from server.outbox.model import NewDelivery
from server.outbox.queue import left_over, seconds_to_next

BOTH = ["page", "pigeon"]


class Sender:
    """Takes everything."""

    def __init__(self) -> None:
        self.given: list[int] = []
        self.came = asyncio.Event()

    async def send(self, delivery) -> None:
        """Takes it."""
        self.given.append(delivery.id)
        self.came.set()


async def test_it_is_not_claimed_and_keeps_its_attempts(connection, rows):
    """By anyone, until it is resumed."""
    [paused] = await rows.add(connection, channel="pigeon")
    [other] = await rows.add(connection)
    await pause_channel(connection, "pigeon")
    held = await claim(connection, holder="a", channels=BOTH, limit=9, lease_s=60)
    assert [d.id for d in held] == [other]
    assert (await rows.read(connection, paused))["attempts"] == 0
    await resume_channel(connection, "pigeon")
    held = await claim(connection, holder="a", channels=BOTH, limit=9, lease_s=60)
    assert [d.id for d in held] == [paused]


async def test_nobody_wakes_for_it(connection, rows):
    """A worker that would would find nothing, again and again."""
    await rows.add(connection, channel="pigeon")
    assert await seconds_to_next(connection, BOTH) is not None
    await pause_channel(connection, "pigeon")
    assert await seconds_to_next(connection, BOTH) is None


async def test_what_is_left_over_tells_it_apart(connection, rows):
    """Due, due elsewhere, paused, and later."""
    await rows.add(connection, 1)
    await rows.add(connection, 2, channel="stone")
    await rows.add(connection, 3, channel="pigeon")
    await rows.add(connection, 4, channel="pigeon", delay_s=60)
    await pause_channel(connection, "pigeon")
    left = await left_over(connection, BOTH)
    assert (left.due, left.due_elsewhere, left.due_paused, left.waiting) == (1, 2, 3, 4)
    await pause_channel(connection, "page")
    left = await left_over(connection, BOTH)
    assert (left.due, left.due_paused, left.next_due_at) == (0, 4, None)


async def test_a_drain_ends_and_tells(connect, connection, rows):
    """Paused is not due: a drain does not run for ever."""
    await rows.add(connection, 3)
    await pause_channel(connection, "page")
    sender = Sender()
    turn = Turn(connect, {"page": sender}, Policy(), holder="d")
    report = await drain(turn, asyncio.Event())
    assert (report.finished, report.left.due_paused, sender.given) == (True, 3, [])


async def test_a_worker_goes_on_when_it_is_resumed(connect, direct, connection):
    """Woken by the notification, not by its next poll, which is an hour away."""
    await pause_channel(connection, "page")
    [number] = await enqueue(connection, [NewDelivery("page", "page", {"text": "x"})])
    sender, wake, stop = Sender(), asyncio.Event(), asyncio.Event()
    turn = Turn(connect, {"page": sender}, Policy(poll_s=3600), holder="w")
    worker = asyncio.create_task(Worker(turn, wake=wake).run(stop))
    ear = asyncio.create_task(listen(direct, wake))
    try:
        await resume_channel(connection, "page")
        await sender.came.wait()
        assert sender.given == [number]
    finally:
        stop.set()
        ear.cancel()
        await asyncio.gather(worker, ear, return_exceptions=True)
