"""Where an interrupt may strike: in a task, and nowhere else.

Somebody outside interrupts Python by a signal, at any moment: while a task runs, while its answer
is being made, between two tasks, or while an event loop does its own work. Raised in a task,
KeyboardInterrupt ends it. Raised anywhere else it would lose an answer, or wake-up of a task that
waits, or hit the next task. So ``strike``, as the handler of SIGINT, looks where it strikes.
An interrupt that is ignored is not kept: whoever interrupts does so again until the task answers.
"""

import asyncio
from collections.abc import Callable, Coroutine
from types import FrameType
from typing import Any, TypeVar

Result = TypeVar("Result")

_waiting: asyncio.Task[Any] | None = None


def interruptible(function: Callable[[], Result]) -> Result:
    """Call ``function``, which an interrupt ends by KeyboardInterrupt, and give its result."""
    return function()


async def interruptible_later(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Await ``coroutine`` and give its result.

    An interrupt ends it by KeyboardInterrupt where its own code runs, and cancels it otherwise.
    There may be one such call at a time.
    """
    global _waiting  # noqa: PLW0603 - there is one thread and one interpreter, and one task in it
    _waiting = asyncio.current_task()
    try:
        return await coroutine
    finally:
        _waiting = None


def cancel() -> None:
    """Cancel the coroutine that is being awaited, unless there is none or it is cancelled."""
    if _waiting is not None and not _waiting.cancelling():
        _waiting.cancel()


def strike(_signal: int, frame: FrameType | None) -> None:
    """Handle SIGINT, which came while ``frame`` was at work."""
    if frame is None or frame.f_globals is globals():
        return
    outer = frame.f_back
    while outer is not None:
        if outer.f_globals is globals():
            raise KeyboardInterrupt
        outer = outer.f_back
    cancel()
