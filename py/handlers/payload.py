"""Reading a task's payload: each field is checked, and a wrong one is named.

A field that is None counts as not given: JavaScript has ``undefined`` and ``null`` for that.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from handlers.errors import BadPayloadError
from handlers.limits import check_bytes, check_pixels

MAX_SIDE_RANGE = (1, 8192)
COLOURS_RANGE = (1, 32)
METHODS = ("vectorised", "loop")
_SOURCE_FIELDS = ("image", "rgba", "width", "height", "format", "bytes", "decoded_by")
_KNOWN = frozenset((*_SOURCE_FIELDS, "max_side", "method", "colours"))
_DIMENSION_RANGE = (1, 1 << 20)
_BYTES_RANGE = (0, 1 << 53)
_FORMAT_LENGTH = 32


@dataclass(frozen=True)
class Options:
    """How to count: the longest side in pixels, the method, the number of swatches."""

    max_side: int
    method: str
    colours: int


@dataclass(frozen=True)
class Pixels:
    """Pixels that a browser decoded: ``rgba`` holds width * height * 4 bytes, alpha straight."""

    rgba: bytes
    width: int
    height: int
    format: str
    bytes: int


def read_options(payload: Mapping[str, object]) -> Options:
    """Give the options of ``payload``; raises BadPayloadError, also for a field nobody reads."""
    unknown = sorted(str(key) for key in payload if key not in _KNOWN)
    if unknown:
        raise BadPayloadError(unknown[0], "is not a field of this task", known=sorted(_KNOWN))
    method = payload.get("method") or METHODS[0]
    if not isinstance(method, str) or method not in METHODS:
        raise BadPayloadError("method", f"must be one of {', '.join(METHODS)}", known=list(METHODS))
    return Options(
        _whole_number(payload, "max_side", MAX_SIDE_RANGE, 1024),
        method,
        _whole_number(payload, "colours", COLOURS_RANGE, 8),
    )


def read_source(payload: Mapping[str, object]) -> bytes | Pixels:
    """Give the file's bytes, or the pixels that a browser decoded.

    Raises BadPayloadError, TooManyBytesError, TooManyPixelsError; nothing is copied before.
    """
    if (payload.get("image") is None) == (payload.get("rgba") is None):
        raise BadPayloadError("image", "must be given, or rgba instead of it, but not both")
    if payload.get("image") is not None:
        return _buffer(payload, "image")
    width = _whole_number(payload, "width", _DIMENSION_RANGE)
    height = _whole_number(payload, "height", _DIMENSION_RANGE)
    check_pixels(width, height)
    rgba = _buffer(payload, "rgba")
    if len(rgba) != width * height * 4:
        raise BadPayloadError(
            "rgba",
            "must hold 4 bytes for each of width × height pixels",  # noqa: RUF001 - a product
            expected=width * height * 4,
            actual=len(rgba),
        )
    if payload.get("decoded_by") not in (None, "browser"):
        raise BadPayloadError("decoded_by", "must be 'browser'", known=["browser"])
    name = payload.get("format")
    if not isinstance(name, str) or not 0 < len(name) <= _FORMAT_LENGTH:
        raise BadPayloadError("format", f"must be a name of 1 to {_FORMAT_LENGTH} characters")
    return Pixels(rgba, width, height, name, _whole_number(payload, "bytes", _BYTES_RANGE, 0))


def _whole_number(
    payload: Mapping[str, object], field: str, limits: tuple[int, int], default: int | None = None
) -> int:
    value = payload.get(field)
    value = default if value is None else value
    low, high = limits
    # JavaScript has one kind of number, so 8.0 is taken for 8
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise BadPayloadError(
            field, f"must be a whole number from {low} to {high}", low=low, high=high
        )
    return value


def _buffer(payload: Mapping[str, object], field: str) -> bytes:
    value = payload[field]
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise BadPayloadError(field, "must hold bytes")
    if field == "image":
        check_bytes(value.nbytes if isinstance(value, memoryview) else len(value))
    return bytes(value)
