"""An exception as plain data that any border lets through: bounded, and never an error itself."""

import traceback
from collections.abc import Collection
from types import TracebackType

from handlers.errors import HandlerError

LONGEST_MESSAGE = 10_000
"""Characters of a message; of a longer one, the beginning and the end are kept."""

LONGEST_TRACEBACK = 40_000
MOST_CAUSES = 8
MOST_ITEMS = 100
DEEPEST_DETAIL = 5


def describe(error: BaseException, hidden: Collection[str] = ()) -> dict[str, object]:
    """Give ``{name, message, traceback}`` of ``error``, and what else there is.

    That is ``code`` and ``details`` of a HandlerError, and ``cause``, the same of the error that
    led to this one. A traceback is of that one error, and begins at the first frame that lies in
    no file of ``hidden``. Chains end after MOST_CAUSES, and before an error that they have named
    already.
    """
    described: dict[str, object] = {}
    inner, chain, seen = described, error, set[int]()
    while True:
        seen.add(id(chain))
        inner |= _one(chain, hidden)
        led_to_it = chain.__cause__ or (None if chain.__suppress_context__ else chain.__context__)
        if led_to_it is None or id(led_to_it) in seen or len(seen) > MOST_CAUSES:
            return described
        inner["cause"] = inner = {}
        chain = led_to_it


def _one(error: BaseException, hidden: Collection[str]) -> dict[str, object]:
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename in hidden:
        frames = frames.tb_next
    described: dict[str, object] = {
        "name": type(error).__name__,
        "message": _message(error),
        "traceback": _traceback(error, frames),
    }
    if isinstance(error, HandlerError):
        described |= {"code": error.code, "details": _plain(error.details, DEEPEST_DETAIL)}
    return described


def _message(error: BaseException) -> str:
    try:
        return _shortened(str(error), LONGEST_MESSAGE)
    except BaseException as failure:  # noqa: BLE001 - whatever it is, it must not hide the error
        return f"(its message could not be had: {type(failure).__name__})"


def _traceback(error: BaseException, frames: TracebackType | None) -> str:
    """Write the frames and the message as Python does, those of a group's members too."""
    try:
        lines = traceback.format_exception(type(error), error, frames, chain=False)
    except BaseException:  # noqa: BLE001 - as above
        lines = [*traceback.format_tb(frames), type(error).__name__]
    return _shortened("".join(_shortened(line, LONGEST_MESSAGE) for line in lines))


def _plain(value: object, depth: int) -> object:
    """Copy what JSON has, within bounds; of anything else only the type's name remains."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return _shortened(value, LONGEST_MESSAGE)
    if depth and isinstance(value, dict):
        pairs = list(value.items())[:MOST_ITEMS]
        return {_shortened(str(key), 100): _plain(inner, depth - 1) for key, inner in pairs}
    if depth and isinstance(value, list | tuple):
        return [_plain(inner, depth - 1) for inner in value[:MOST_ITEMS]]
    return f"({type(value).__name__})"


def _shortened(text: str, longest: int = LONGEST_TRACEBACK) -> str:
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]} … ({len(text) - 2 * half} characters left out) … {text[-half:]}"
