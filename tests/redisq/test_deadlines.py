"""Time limits that share a timer."""

from __future__ import annotations

import asyncio

import pytest

from server.redisq.deadlines import Deadline, Deadlines


async def held(seconds: float, among: Deadlines, entered: asyncio.Event | None = None) -> None:
    """Wait for ever within a limit."""
    with Deadline(seconds, among):
        if entered:
            entered.set()
        await asyncio.Event().wait()


async def test_each_ends_at_its_own_time() -> None:
    """Whichever was there first; what ended before does not count."""
    among = Deadlines()
    order: list[float] = []

    async def run(seconds: float) -> None:
        with pytest.raises(TimeoutError):
            await held(seconds, among)
        order.append(seconds)

    with Deadline(0.01, among):
        pass
    last = asyncio.create_task(held(3600, among))
    await asyncio.gather(*(run(seconds) for seconds in (0.2, 0.05, 0.1)))
    assert order == [0.05, 0.1, 0.2]
    assert not last.done()
    last.cancel()
    await asyncio.wait([last])


async def test_a_cancellation_from_outside_stays_one() -> None:
    """Also when the limit is reached at the same moment."""
    among, entered = Deadlines(), asyncio.Event()
    task = asyncio.create_task(held(3600, among, entered))
    await entered.wait()
    [deadline] = among._open  # noqa: SLF001 - to let it expire at that moment
    deadline.expire()
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


async def test_what_minds_no_limit_goes_on() -> None:
    """The next wait of the same task is not cancelled for it."""
    among = Deadlines()
    limit = Deadline(0.01, among)
    with limit:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
    assert limit.expired
    task = asyncio.current_task()
    assert task
    assert not task.cancelling()
