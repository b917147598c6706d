"""What the workers of the Redis queue can do: the same functions that run in the browser."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any

import handlers
from handlers.errors import HandlerError
from server.redisq import FromThread, PermanentError, Tasks

NAMES = ("echo", "fail", "histogram", "sleep", "spin", "square")
BYTES = "base64"
"""A value {"base64": "…"} in a payload is the bytes that it spells."""


def queue_tasks() -> Tasks:
    """Return the tasks of this project by name. Each runs in a thread."""
    tasks = Tasks()
    for name in NAMES:
        tasks.task(name)(_handler(name))
    return tasks


def _handler(name: str) -> Callable[[FromThread], Any]:
    def run(job: FromThread) -> Any:
        payload = job.payload if job.payload is not None else {}
        if not isinstance(payload, dict):
            raise PermanentError(
                f"the payload of {name} is an object, not {type(payload).__name__}"
            )
        try:
            return handlers.run(
                name, {key: _bytes(value) for key, value in payload.items()}, job.progress
            )
        except HandlerError as error:
            # Bad input stays bad, however often it is tried.
            raise PermanentError(f"{error.code}: {error}") from error

    return run


def _bytes(value: Any) -> Any:
    if not (isinstance(value, dict) and value.keys() == {BYTES}):
        return value
    try:
        return base64.b64decode(value[BYTES], validate=True)
    except (binascii.Error, TypeError, ValueError) as error:
        raise PermanentError(f"that is no base64: {error}") from error
