"""One query at a time, and nobody gets an answer that was begun before they asked."""

import asyncio

import pytest

from server.single_flight import SingleFlight


class Source:
    """Answers with what the world was like when it was asked, once it is allowed to."""

    def __init__(self) -> None:
        self.world = 0
        self.asked = 0
        self.begun = asyncio.Event()
        self.allowed = asyncio.Event()

    async def fetch(self) -> int:
        """One query."""
        self.asked += 1
        seen = self.world
        self.begun.set()
        await self.allowed.wait()
        return seen


async def test_those_who_come_together_share():
    """By one query; who comes after it gets another."""
    source = Source()
    flight = SingleFlight(source.fetch)
    source.allowed.set()
    assert await asyncio.gather(*(flight.get() for _ in range(9))) == [0] * 9
    assert source.asked == 1
    assert await flight.get() == 0
    assert source.asked == 2


async def test_who_comes_later_sees_what_has_changed():
    """While one is under way, the next is shared by all who wait for it."""
    source = Source()
    flight = SingleFlight(source.fetch)
    first = asyncio.create_task(flight.get())
    await source.begun.wait()
    source.world = 1
    later = [asyncio.create_task(flight.get()) for _ in range(5)]
    source.allowed.set()
    assert await first == 0
    assert await asyncio.gather(*later) == [1] * 5
    assert source.asked == 2


async def test_who_leaves_takes_nobody_along():
    """A client that hangs up does not cancel the query of the others."""
    source = Source()
    flight = SingleFlight(source.fetch)
    leaver, stayer = (asyncio.create_task(flight.get()) for _ in range(2))
    await source.begun.wait()
    leaver.cancel()
    source.allowed.set()
    assert await stayer == 0
    with pytest.raises(asyncio.CancelledError):
        await leaver


async def test_a_failure_reaches_all_and_is_forgotten():
    """The next one starts anew."""
    answers = [OSError("away"), 7]

    async def fetch() -> int:
        answer = answers.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return answer

    flight = SingleFlight(fetch)
    failed = await asyncio.gather(flight.get(), flight.get(), return_exceptions=True)
    assert [str(one) for one in failed] == ["away", "away"]
    assert await flight.get() == 7
