"""The bridge between JavaScript and the handlers. Only Pyodide imports this module.

Values cross the border by these rules:

- JavaScript to Python: objects become dicts, arrays lists, typed arrays and ArrayBuffers bytes,
  `null` and `undefined` None. A payload that holds anything else but Maps (dicts) and Sets (sets)
  is refused.
- Python to JavaScript: dicts with names as keys become plain objects, lists and tuples arrays,
  bytes and one-dimensional NumPy arrays of numbers typed arrays (each a copy with a buffer of its
  own), NumPy's numbers numbers, None `null`. A value of any other kind is refused by a TypeError
  that names it; no proxy ever leaves this module.
"""

import asyncio
import inspect
import platform
import signal
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import numpy as np
import PIL
import pyodide
from js import Object
from pyodide.ffi import JsBuffer, JsException, JsProxy, jsnull, to_js

import handlers
from handlers import crash as _crash  # noqa: F401 - importing it registers the task
from handlers import interrupts, registry
from handlers.describe import describe
from handlers.errors import BadPayloadError
from handlers.interrupts import cancel, cancellable, interruptible, interruptible_later

__all__ = ["answer", "cancel", "tasks", "versions"]

Settle = Callable[[JsProxy], None]

_MACHINERY = frozenset((__file__, registry.__file__, interrupts.__file__))

signal.signal(signal.SIGINT, interrupts.strike)


def tasks() -> JsProxy:
    """Return the names of all tasks as a JavaScript array."""
    return to_js(handlers.names())


def versions() -> JsProxy:
    """Return the versions of everything that a result depends on, by name."""
    return _to_javascript(
        {
            "pyodide": pyodide.__version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "pillow": PIL.__version__,
        }
    )


def answer(
    name: str, payload: Any, progress: Callable[[float], None] | None, settle: Settle
) -> None:
    """Run a task and call `settle` once with `{result}` or `{error}`, a plain JavaScript object.

    That happens before this returns, or later if the task is async; then `cancel` cancels it.
    `error` is what handlers.describe makes of an exception; its tracebacks begin at the first
    frame behind this bridge. One task at a time.
    """
    try:
        outcome = interruptible(partial(registry.start, name, _payload(payload), progress))
        if inspect.iscoroutine(outcome):
            waiting = asyncio.ensure_future(_answer_later(outcome))
            waiting.add_done_callback(partial(_settle, settle, outcome))
            cancellable(waiting)
            return
        answered = _to_javascript({"result": outcome})
    except BaseException as error:  # noqa: BLE001 - KeyboardInterrupt is an answer, too
        answered = _failure(error)
    settle(answered)


async def _answer_later(coroutine: Coroutine[Any, Any, Any]) -> JsProxy:
    """Await the task; KeyboardInterrupt and SystemExit would tear the event loop if they left."""
    try:
        return _to_javascript({"result": await interruptible_later(coroutine)})
    except BaseException as error:  # noqa: BLE001 - as above
        return _failure(error)


def _settle(
    settle: Settle, coroutine: Coroutine[Any, Any, Any], waiting: asyncio.Task[JsProxy]
) -> None:
    coroutine.close()  # it has not even begun if it was cancelled at once
    cancelled = waiting.cancelled()
    settle(_failure(asyncio.CancelledError()) if cancelled else waiting.result())


def _failure(error: BaseException) -> JsProxy:
    """Describe an error, and let go of what its frames hold."""
    described = describe(error, _MACHINERY)
    error.__traceback__ = None
    return _to_javascript({"error": described})


def _payload(value: Any) -> dict[str, Any]:
    """Convert a task's payload; a buffer at its top level is copied once, straight to bytes.

    A field whose value is `undefined` counts as one that is not there.
    """
    if value is None or value is jsnull:
        return {}
    if not isinstance(value, JsProxy):
        raise BadPayloadError("payload", "must be an object")
    if value.typeof != "object" or Object.prototype.toString.call(value) != "[object Object]":
        raise BadPayloadError("payload", "must be a plain object")
    entries = ((key, inner) for key, inner in Object.entries(value) if inner is not None)
    return {key: _to_python(inner, key) for key, inner in entries}


def _to_python(value: Any, field: str) -> Any:
    if isinstance(value, JsBuffer):
        return value.to_bytes()
    if not isinstance(value, JsProxy):
        return _plain(value)

    def refuse(foreign: JsProxy, *_: object) -> None:
        raise BadPayloadError(field, f"holds a {foreign.constructor.name}, which Python has not")

    try:
        return _plain(value.to_py(default_converter=refuse))
    except (RecursionError, JsException) as error:
        raise BadPayloadError(field, "lies too deep in itself, or in a circle") from error


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if isinstance(value, memoryview):
        return value.tobytes()
    return None if value is jsnull else value


def _to_javascript(value: Any) -> JsProxy:
    return to_js(_with_nulls(value), dict_converter=Object.fromEntries, create_pyproxies=False)


def _with_nulls(value: Any) -> Any:
    """Put `null` where Pyodide would put `undefined`; refuse what JavaScript has no word for."""
    if value is None:
        return jsnull
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"A key of a result must be a str, not {type(key).__name__}.")
        return {key: _with_nulls(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_with_nulls(inner) for inner in value]
    if isinstance(value, np.ndarray) and (value.ndim != 1 or value.dtype.kind not in "biuf"):
        raise TypeError(
            f"An array in a result must hold numbers in one dimension, not {value.dtype} in"
            f" {value.ndim}; give its shape beside it."
        )
    if isinstance(value, np.bool_ | np.number) and not isinstance(value, np.complexfloating):
        return value.item()
    if isinstance(value, _KEPT):
        return value
    raise TypeError(f"A result must not hold a {type(value).__name__}.")


_KEPT = (bool, int, float, str, bytes, bytearray, memoryview, np.ndarray, JsProxy)
