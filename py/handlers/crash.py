"""A task that kills the worker it runs in. Only handlers.browser imports it."""

import asyncio
from collections.abc import Coroutine
from typing import Any, Literal

import js

from handlers.errors import HandlerError
from handlers.registry import task

_DEEP = 100_000
_MESSAGE = "This worker was to crash."


@task("crash")
def crash(
    *, how: Literal["error", "close", "rejection", "fatal"] = "error"
) -> Coroutine[Any, Any, None]:
    """Kill this worker and never answer.

    ``error``: by an error that nobody catches; ``close``: without a word; ``rejection``: by a
    rejected promise that nobody handles; ``fatal``: by an interpreter that can't go on. Raises
    HandlerError with the code "not-in-a-worker" where this is not one.
    """
    if hasattr(js, "document"):
        raise HandlerError("not-in-a-worker", "Only a worker can be killed, and this is the page.")
    match how:
        case "error":
            js.reportError(js.Error.new(_MESSAGE))
        case "close":
            js.close()
        case "rejection":
            # by a timer, because Python would keep a promise that it gets to see
            js.setTimeout(js.Promise.reject.bind(js.Promise, js.Error.new(_MESSAGE)))
        case "fatal":
            _break()
    return _silence()


async def _silence() -> None:
    await asyncio.get_running_loop().create_future()


def _break() -> None:
    """Break the interpreter: JavaScript's stack ends before Python notices the recursion."""
    nested: list[Any] = []
    for _ in range(_DEEP):
        nested = [nested]
    repr(nested)
