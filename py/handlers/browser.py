"""The bridge between JavaScript and the handlers. Only Pyodide imports this module.

Values cross the border by these rules:

- JavaScript to Python: objects become dicts, arrays lists, typed arrays and ArrayBuffers bytes,
  `null` and `undefined` None.
- Python to JavaScript: dicts become plain objects, lists and tuples arrays, bytes and
  one-dimensional NumPy arrays typed arrays (each a copy with a buffer of its own), None `null`.
  A value of any other kind is refused; no proxy ever leaves this module.
"""

import platform
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import PIL
import pyodide
from js import Object
from pyodide.ffi import JsBuffer, JsProxy, jsnull, to_js

import handlers
from handlers.errors import HandlerError

__all__ = ["answer", "tasks", "versions"]


def tasks() -> JsProxy:
    """Return the names of all tasks as a JavaScript array."""
    return to_js(list(handlers.names()))


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


def answer(name: str, payload: Any, report: Callable[[float], None] | None = None) -> JsProxy:
    """Run a task and return `{result}` or `{error}` as a plain JavaScript object; never raise.

    `error` is `{name, message, traceback}`, and for a HandlerError also `code` and `details`.
    """
    try:
        return _to_javascript({"result": handlers.run(name, _to_python(payload))})
    except BaseException as error:  # noqa: BLE001 -- KeyboardInterrupt is an answer, too
        return _to_javascript({"error": _describe(error)})


def _describe(error: BaseException) -> dict[str, Any]:
    described: dict[str, Any] = {
        "name": type(error).__name__,
        "message": str(error),
        "traceback": "".join(traceback.format_exception(error)),
    }
    if isinstance(error, HandlerError):
        described |= {"code": error.code, "details": error.details}
    return described


def _to_python(value: Any) -> Any:
    """Convert a task's payload: buffers at the top level are copied once, straight to bytes."""
    if isinstance(value, JsBuffer):
        return value.to_bytes()
    if isinstance(value, JsProxy):
        if value.constructor == Object:
            return {key: _to_python(inner) for key, inner in Object.entries(value)}
        return _without_views(value.to_py())
    return None if value is jsnull else value


def _without_views(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_views(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_without_views(inner) for inner in value]
    if isinstance(value, memoryview):
        return value.tobytes()
    return None if value is jsnull else value


def _to_javascript(value: Any) -> JsProxy:
    return to_js(_with_nulls(value), dict_converter=Object.fromEntries, create_pyproxies=False)


def _with_nulls(value: Any) -> Any:
    """Put `null` where Pyodide would put `undefined`, which JSON drops."""
    if value is None:
        return jsnull
    if isinstance(value, dict):
        return {key: _with_nulls(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_with_nulls(inner) for inner in value]
    return value
