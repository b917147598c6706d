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

_cancellable: asyncio.Task[Any] | None = None


def interruptible(function: Callable[[], Result]) -> Result:
    """Call ``function``, which an interrupt ends by KeyboardInterrupt, and give its result."""
    return function()


async def interruptible_later(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Await ``coroutine`` and give its result.

    An interrupt ends it by KeyboardInterrupt where its own code runs.
    """
    global _cancellable  # noqa: PLW0603 - one interpreter, and one task at a time in it
    try:
        return await coroutine
    finally:
        _cancellable = None


def cancellable(task: asyncio.Task[Any]) -> None:
    """Let ``cancel`` cancel ``task``, from before its first step to what it awaits at last.

    There may be one such task at a time, and it must await ``interruptible_later``.
    """
    global _cancellable  # noqa: PLW0603 - as above
    _cancellable = task


def cancel() -> None:
    """Cancel the task that can be cancelled, unless there is none or it has been already."""
    if _cancellable is not None and not _cancellable.cancelling():
        _cancellable.cancel()


def strike(_signal: int, frame: FrameType | None) -> None:
    """Handle SIGINT, which came while ``frame`` was at work.

    In a task, which is whatever this module has called, raise KeyboardInterrupt. In this module
    and in what it does to cancel a task, do nothing. Anywhere else, cancel the task that waits.
    """
    ours = frame
    while ours is not None and ours.f_globals is not globals():
        ours = ours.f_back
    if ours is None:
        cancel()
    elif ours is not frame and ours.f_code in _CALLERS:
        raise KeyboardInterrupt


_CALLERS = (interruptible.__code__, interruptible_later.__code__)
