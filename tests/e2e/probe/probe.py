"""Tasks that show how values and failures cross the border; only the tests' runtime has them."""

import asyncio
import gc
import json
import random
import time
from typing import Any, Literal

import numpy as np

from handlers.errors import HandlerError
from handlers.progress import report_progress
from handlers.registry import task


@task("probe-echo")
def echo(*, value: Any = None) -> Any:
    """Give `value` back."""
    return value


@task("probe-types")
def types(*, buffer: object, fields: dict[str, object]) -> Any:
    """Name the Python type of a buffer and of each field of an object."""
    return {key: type(value).__name__ for key, value in {"buffer": buffer, **fields}.items()}


@task("probe-none-inside")
def none_inside() -> Any:
    """Give None at every depth."""
    return {"field": None, "list": [None, {"deep": None}]}


@task("probe-arrays")
def arrays() -> Any:
    """Give arrays, a large one among them."""
    return {"counts": np.arange(65536, dtype=np.uint32), "raw": b"abc"}


@task("probe-function")
def function() -> Any:
    """Give something that has no meaning in JavaScript."""
    return {"call": function}


@task("probe-numbers")
def numbers() -> Any:
    """Give NumPy's own numbers."""
    return [np.int64(3), np.float32(1.5), np.True_, np.uint8(7)]


@task("probe-odd")
def odd(*, kind: Literal["set", "key", "table", "dates", "date", "complex", "object"]) -> Any:
    """Give something that would be something else in JavaScript."""
    return {
        "set": {1, 2},
        "key": {1: 2, "1": 3},
        "table": np.zeros((2, 2)),
        "dates": np.zeros(2, "datetime64[D]"),
        "date": np.datetime64("2026-01-01"),
        "complex": np.complex128(1),
        "object": [object()],
    }[kind]


@task("probe-js-function")
def js_function() -> Any:
    """Give something that JavaScript has and no message can carry."""
    from js import Object  # noqa: PLC0415 - browser only

    return {"call": Object.entries}


@task("probe-raise")
def fail() -> Any:
    """Fail as a bug does."""
    return 1 / 0


@task("probe-raise-inside")
def fail_inside() -> Any:
    """Fail in the standard library, whose source a restored interpreter does not have."""
    return json.loads("{")


@task("probe-refuse")
def refuse() -> Any:
    """Fail as a handler does."""
    raise HandlerError("probe-code", "The sentence.", {"limit": 3, "name": None})


@task("probe-random")
def some_random() -> Any:
    """Give a random number."""
    return random.random()  # noqa: S311 - no secret


@task("probe-progress")
def report() -> Any:
    """Report three values."""
    for value in (0.0, 0.5, 1.0):
        report_progress(value)
    return "reported"


@task("probe-late-import")
def late_import() -> Any:
    """Import what nothing imported before: pure Python, and an extension module."""
    report_progress(0.5)
    import colorsys  # noqa: PLC0415

    from numpy import fft  # noqa: PLC0415

    return [colorsys.rgb_to_hsv(0, 1, 0)[0] * 3, float(abs(fft.fft(np.ones(4))[0]))]


@task("probe-interrupt")
def interrupt() -> Any:
    """Run until somebody interrupts."""
    report_progress(0.0)
    while True:
        pass


@task("probe-reject")
def reject() -> Any:
    """Leave a rejected promise behind that nobody handles."""
    from js import Promise  # noqa: PLC0415 - browser only

    Promise.reject("left behind")
    return "rejecting"


@task("probe-break")
def break_down() -> Any:
    """Break the interpreter: JavaScript's stack ends before Python notices the recursion."""
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    return repr(nested)


@task("probe-live")
def live() -> Any:
    """Count what is alive: Python's objects, and what of JavaScript Python holds."""
    from pyodide_js import _module  # noqa: PLC0415 - browser only

    gc.collect()
    return {
        "objects": len(gc.get_objects()),
        "references": _module._hiwire_num_refs(),  # noqa: SLF001 - the only way to know
        "heap": _module.HEAP8.length,
    }


@task("probe-circle")
def circle() -> Any:
    """Give a list that holds itself."""
    inside: list[Any] = []
    inside.append(inside)
    return inside


@task("probe-wait")
async def wait(*, how: Literal["once", "child", "clean"]) -> Any:
    """Wait for ever: in one future, in a child task, or with a clean-up that takes its time."""
    report_progress(0)
    waiting = asyncio.get_running_loop().create_future()
    try:
        await (asyncio.ensure_future(_awaited(waiting)) if how == "child" else waiting)
    finally:
        if how == "clean":
            await asyncio.sleep(0.01)
            report_progress(1)


async def _awaited(future: asyncio.Future[None]) -> None:
    await future


@task("probe-busy")
async def busy(*, turns: int | None = None) -> Any:
    """Work in short turns, between which others have theirs; without `turns` for ever."""
    report_progress(0)
    turn = 0
    while turns is None or turn < turns:
        turn += 1
        await asyncio.sleep(0)
    return turn


@task("probe-nap")
def nap(*, seconds: float) -> Any:
    """Sleep without awaiting."""
    report_progress(0)
    time.sleep(seconds)
    return "slept"


@task("probe-stubborn")
def stubborn() -> Any:
    """Give up at the third interrupt only, and clean up even then."""
    report_progress(0)
    for _ in range(2):
        try:
            while True:
                pass
        except KeyboardInterrupt:
            pass
    try:
        while True:
            pass
    finally:
        report_progress(1)


@task("probe-many")
def many(*, count: int) -> Any:
    """Give a result that takes its time to convert."""
    result = [{"number": number, "inner": [None, number]} for number in range(count)]
    report_progress(1)
    return result
