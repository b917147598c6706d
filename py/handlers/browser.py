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


def answer(name: str, payload: Any, progress: Callable[[float], None] | None = None) -> JsProxy:
    """Run a task and return `{result}` or `{error}` as a plain JavaScript object; never raise.

    `error` is `{name, message, traceback}`, and for a HandlerError also `code` and `details`.
    The traceback begins at the first frame behind this bridge.
    """
    try:
        return _to_javascript({"result": handlers.run(name, _payload(payload), progress)})
    except BaseException as error:  # noqa: BLE001 - KeyboardInterrupt is an answer, too
        return _to_javascript({"error": _describe(error)})


def _describe(error: BaseException) -> dict[str, Any]:
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
        frames = frames.tb_next
    described: dict[str, Any] = {
        "name": type(error).__name__,
        "message": str(error),
        "traceback": "".join(traceback.format_exception(type(error), error, frames)),
    }
    if isinstance(error, HandlerError):
        described |= {"code": error.code, "details": error.details}
    return described


def _payload(value: Any) -> dict[str, Any]:
    """Convert a task's payload; a buffer at its top level is copied once, straight to bytes.

    A field whose value is `undefined` counts as one that is not there.
    """
    if value is None or value is jsnull:
        return {}
    entries = ((key, inner) for key, inner in Object.entries(value) if inner is not None)
    return {key: _to_python(inner) for key, inner in entries}


def _to_python(value: Any) -> Any:
    if isinstance(value, JsBuffer):
        return value.to_bytes()
    return _plain(value.to_py() if isinstance(value, JsProxy) else value)


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
    """Put `null` where Pyodide would put `undefined`, which JSON drops."""
    if value is None:
        return jsnull
    if isinstance(value, dict):
        return {key: _with_nulls(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_with_nulls(inner) for inner in value]
    return value
