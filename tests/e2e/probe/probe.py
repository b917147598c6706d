"""Tasks that show how values and failures cross the border; only the tests' runtime has them."""

import json
import random
from typing import Any

import numpy as np

from handlers.errors import HandlerError
from handlers.registry import Payload, Progress, task


@task("probe-echo")
def echo(payload: Payload, _progress: Progress) -> Any:
    """Give `value` back."""
    return payload.get("value")


@task("probe-types")
def types(payload: Payload, _progress: Progress) -> Any:
    """Name the Python type of each field."""
    return {key: repr(type(value).__name__) for key, value in payload.items()}


@task("probe-none-inside")
def none_inside(_payload: Payload, _progress: Progress) -> Any:
    """Give None at every depth."""
    return {"field": None, "list": [None, {"deep": None}]}


@task("probe-arrays")
def arrays(_payload: Payload, _progress: Progress) -> Any:
    """Give arrays, a large one among them."""
    return {"counts": np.arange(65536, dtype=np.uint32), "raw": b"abc"}


@task("probe-function")
def function(_payload: Payload, _progress: Progress) -> Any:
    """Give something that has no meaning in JavaScript."""
    return {"call": function}


@task("probe-js-function")
def js_function(_payload: Payload, _progress: Progress) -> Any:
    """Give something that JavaScript has and no message can carry."""
    from js import Object  # noqa: PLC0415 - browser only

    return {"call": Object.entries}


@task("probe-raise")
def fail(_payload: Payload, _progress: Progress) -> Any:
    """Fail as a bug does."""
    return 1 / 0


@task("probe-raise-inside")
def fail_inside(_payload: Payload, _progress: Progress) -> Any:
    """Fail in the standard library, whose source a restored interpreter does not have."""
    return json.loads("{")


@task("probe-refuse")
def refuse(_payload: Payload, _progress: Progress) -> Any:
    """Fail as a handler does."""
    raise HandlerError("probe-code", "The sentence.", {"limit": 3, "name": None})


@task("probe-random")
def some_random(_payload: Payload, _progress: Progress) -> Any:
    """Give a random number."""
    return random.random()  # noqa: S311 - no secret


@task("probe-progress")
def report(_payload: Payload, progress: Progress) -> Any:
    """Report three values."""
    for value in (0.0, 0.5, 1.0):
        progress(value)
    return "reported"


@task("probe-late-import")
def late_import(_payload: Payload, progress: Progress) -> Any:
    """Import what nothing imported before: pure Python, and an extension module."""
    progress(0.5)
    import colorsys  # noqa: PLC0415

    from numpy import fft  # noqa: PLC0415

    return [colorsys.rgb_to_hsv(0, 1, 0)[0] * 3, float(abs(fft.fft(np.ones(4))[0]))]


@task("probe-interrupt")
def interrupt(_payload: Payload, progress: Progress) -> Any:
    """Run until somebody interrupts."""
    progress(0.0)
    while True:
        pass


@task("probe-reject")
def reject(_payload: Payload, _progress: Progress) -> Any:
    """Leave a rejected promise behind that nobody handles."""
    from js import Promise  # noqa: PLC0415 - browser only

    Promise.reject("left behind")
    return "rejecting"


@task("probe-break")
def break_down(_payload: Payload, _progress: Progress) -> Any:
    """Break the interpreter: JavaScript's stack ends before Python notices the recursion."""
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    return repr(nested)
