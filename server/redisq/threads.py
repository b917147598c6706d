"""Plain functions beside the event loop, each in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


async def in_thread(call: Callable[[], T]) -> T:
    """Return what the call returns, or raise what it raises.

    Python cannot stop a thread. Cancelled, this ends and the thread goes on; it holds up neither
    the next call, as it would in a pool, nor the end of the process.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[tuple[T, None] | tuple[None, BaseException]] = loop.create_future()

    def tell(result: tuple[T, None] | tuple[None, BaseException]) -> None:
        if not ended.done():
            ended.set_result(result)

    def work() -> None:
        result: tuple[T, None] | tuple[None, BaseException]
        try:
            result = call(), None
        except BaseException as error:  # noqa: BLE001 - it is raised again, in the loop
            result = None, error
        # The loop may be gone: then nobody waits any longer.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(tell, result)

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(work,), name="job", daemon=True).start()
    result, error = await ended
    if error is not None:
        raise error
    return result  # type: ignore[return-value] # there is no error, so there is a result
