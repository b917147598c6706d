"""The fixed set of tasks that may be run by name.

A task is a function, or an async one, whose parameters are keyword-only and typed:

>>> from handlers.registry import task
>>> @task("half")
... def half(*, x: float) -> float:
...     return x / 2
>>> half(x=3)
1.5
"""

import asyncio
import inspect
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any, TypeVar

from handlers.errors import UnknownTaskError
from handlers.progress import Receiver, reporting_to
from handlers.signature import Signature, signature_of

Handler = TypeVar("Handler", bound=Callable[..., object])

_tasks: dict[str, tuple[Callable[..., Any], Signature]] = {}


def task(name: str) -> Callable[[Handler], Handler]:
    """Register the decorated function under ``name`` and leave it as it is.

    Raises ValueError for a name that is taken, and TypeError for a parameter whose values could not
    be checked (``signature_of``).
    """

    def register(handler: Handler) -> Handler:
        if name in _tasks:
            raise ValueError(f"The task name {name!r} is taken.")
        _tasks[name] = (handler, signature_of(handler))
        return handler

    return register


def names() -> tuple[str, ...]:
    """Give the registered names in alphabetical order."""
    return tuple(sorted(_tasks))


def start(name: str, payload: Mapping[str, object], progress: Receiver | None = None) -> Any:
    """Run the task ``name`` and give its result, or a coroutine for it if the task is async.

    ``progress`` is called with each fraction that the task reports. Raises UnknownTaskError,
    BadPayloadError, or whatever the task documents.
    """
    if name not in _tasks:
        raise UnknownTaskError(name, names())
    handler, signature = _tasks[name]
    arguments = signature.read(payload)
    if inspect.iscoroutinefunction(handler):
        return _awaited(handler, arguments, progress)
    with reporting_to(progress):
        return handler(**arguments)


def run(name: str, payload: Mapping[str, object], progress: Receiver | None = None) -> Any:
    """Run the task ``name`` to its end and give its result.

    The same as ``start``, but an async task has an event loop of its own here, so this must not be
    called while another one runs in the same thread.
    """
    outcome = start(name, payload, progress)
    if not inspect.iscoroutine(outcome):
        return outcome
    with closing(outcome):
        return asyncio.run(outcome)


async def _awaited(
    handler: Callable[..., Any], arguments: dict[str, Any], progress: Receiver | None
) -> Any:
    with reporting_to(progress):
        return await handler(**arguments)
