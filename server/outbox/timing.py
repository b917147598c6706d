"""How long the statements take, told to whoever measures. Without one it costs next to nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Timed = Callable[[str, float], None]
"""Takes the name of a statement and the seconds that it took, its round trip included."""

_listeners: list[Timed] = []


@contextmanager
def told_of_statements(listener: Timed) -> Iterator[None]:
    """Lets `listener` know of every statement of this process that succeeds meanwhile."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


@contextmanager
def timed(name: str) -> Iterator[None]:
    """Times a statement. One that fails is not told: how long a failure takes says nothing."""
    began = time.perf_counter()
    yield
    if _listeners:
        took = time.perf_counter() - began
        for listener in _listeners:
            listener(name, took)
