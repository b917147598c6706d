"""An interrupt strikes in a task and nowhere else."""

import asyncio
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from handlers import interrupts
from handlers.interrupts import cancel, cancellable, interruptible, interruptible_later


@pytest.fixture(autouse=True)
def _strike() -> Iterator[None]:
    """Let the bridge's handler take SIGINT for the length of a test."""
    before = signal.signal(signal.SIGINT, interrupts.strike)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt() -> None:
    """Interrupt this process, as somebody outside does."""
    signal.raise_signal(signal.SIGINT)


def test_a_task_is_interrupted() -> None:
    """At whatever depth it is."""
    with pytest.raises(KeyboardInterrupt):
        interruptible(interrupt)
    with pytest.raises(KeyboardInterrupt):
        interruptible(lambda: [interrupt() for _ in range(1)])


def test_between_two_tasks_an_interrupt_is_nothing() -> None:
    """It does not wait for the next task, either."""
    interrupt()
    assert interruptible(lambda: 1) == 1
    interrupt()


def test_what_a_task_leaves_behind_is_not_interrupted() -> None:
    """A function that the task gave away runs outside of it."""
    left_behind = interruptible(lambda: interrupt)
    left_behind()


def test_an_async_task_is_interrupted_where_its_own_code_runs() -> None:
    """Also after it has waited."""

    async def task() -> None:
        await asyncio.sleep(0)
        interrupt()

    async def main() -> None:
        with pytest.raises(KeyboardInterrupt):
            await interruptible_later(task())
        interrupt()

    asyncio.run(main())


def test_while_an_async_task_waits_an_interrupt_cancels_it_once() -> None:
    """The event loop's own work is not interrupted, so no wake-up is lost."""
    seen: list[str] = []

    async def task() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            seen.append("cleaning up")
            await asyncio.sleep(0.01)
            seen.append("clean")

    async def main() -> None:
        loop = asyncio.get_running_loop()
        running = asyncio.ensure_future(interruptible_later(task()))
        cancellable(running)
        for moment in range(3):
            loop.call_later(0.001 * moment, interrupt)
        with pytest.raises(asyncio.CancelledError):
            await running

    with_own_handler(main())
    assert seen == ["cleaning up", "clean"]


def with_own_handler(main: Any, loop: asyncio.AbstractEventLoop | None = None) -> None:
    """Run like asyncio.run, which would put its own handler in the place of ours."""
    loop = loop or asyncio.new_event_loop()
    try:
        loop.run_until_complete(main)
    finally:
        loop.close()


def test_cancel_without_a_task_is_nothing() -> None:
    """Whoever cancels may be late."""
    cancel()

    async def main() -> None:
        running = asyncio.ensure_future(interruptible_later(asyncio.sleep(0, "slept")))
        cancellable(running)
        assert await running == "slept"
        cancel()

    with_own_handler(main())


def test_a_task_can_be_cancelled_before_its_first_step() -> None:
    """Whoever cancels may be early."""
    begun: list[str] = []

    async def task() -> None:
        begun.append("begun")

    async def main() -> None:
        coroutine = task()
        running = asyncio.ensure_future(interruptible_later(coroutine))
        cancellable(running)
        cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        coroutine.close()

    with_own_handler(main())
    assert begun == []


def test_cancelling_is_not_interrupted() -> None:
    """What an event loop does to cancel a task is no part of the task."""
    struck: list[str] = []

    class Loop(asyncio.SelectorEventLoop):
        hostile = False

        def call_soon(self, *given: Any, **named: Any) -> Any:
            if self.hostile:
                interrupt()
                struck.append("struck")
            return super().call_soon(*given, **named)

    loop = Loop()

    async def main() -> None:
        running = asyncio.ensure_future(interruptible_later(asyncio.sleep(3600)))
        cancellable(running)
        await asyncio.sleep(0)
        loop.hostile = True
        cancel()
        loop.hostile = False
        with pytest.raises(asyncio.CancelledError):
            await running

    with_own_handler(main(), loop)
    assert struck == ["struck"]


def test_without_a_frame_nothing_is_interrupted() -> None:
    """Python may notice an interrupt where none of its code runs."""
    interrupts.strike(signal.SIGINT, None)
