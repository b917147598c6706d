"""The tasks that a worker knows, by name."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, TypeVar

from .new_job import NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Handler = TypeVar("Handler", bound="Callable[..., Any]")


class Tasks:
    """Handlers by name. A handler takes a RunningJob, or, if it is no coroutine, a FromThread."""

    def __init__(self) -> None:
        self._handlers: dict[str, Callable[..., Any]] = {}
        self._async: set[str] = set()

    def task(self, name: str) -> Callable[[Handler], Handler]:
        """Register a function under a name.

        What it returns is the job's result, which the queue's codec must be able to write. It may
        raise PermanentError and Snooze; anything else that it raises is a failed attempt.

        Raises ValueError for a name that is none, or is taken.
        """
        if not NAME.fullmatch(name):
            raise ValueError(f"not a name for a task: {name!r}")
        if name in self._handlers:
            raise ValueError(f"there is a task {name} already")

        def register(handler: Handler) -> Handler:
            self._handlers[name] = handler
            if inspect.iscoroutinefunction(handler):
                self._async.add(name)
            return handler

        return register

    def __iter__(self) -> Iterator[str]:
        return iter(self._handlers)

    def __getitem__(self, name: str) -> Callable[..., Any]:
        return self._handlers[name]

    def is_async(self, name: str) -> bool:
        """Whether the handler is a coroutine function, and so must not block."""
        return name in self._async
