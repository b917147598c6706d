"""Where a picture comes from: what the fields of a payload must be together."""

from dataclasses import dataclass

from handlers.errors import BadPayloadError
from handlers.limits import check_bytes, check_pixels
from handlers.signature import Range

Buffer = bytes | bytearray | memoryview

DIMENSION = Range(1, 1 << 20)
_FORMAT_LENGTH = 32


@dataclass(frozen=True)
class Pixels:
    """Pixels that a browser decoded: ``rgba`` holds width * height * 4 bytes, alpha straight."""

    rgba: bytes
    width: int
    height: int
    format: str
    bytes: int


def read_source(
    image: Buffer | None,
    rgba: Buffer | None,
    size: tuple[int | None, int | None],
    name: str | None,
    length: int,
) -> bytes | Pixels:
    """Give the file's bytes, or the pixels that a browser decoded.

    Raises BadPayloadError, TooManyBytesError, TooManyPixelsError; nothing is copied before.
    """
    if image is not None and rgba is None:
        check_bytes(memoryview(image).nbytes)
        return bytes(image)
    if rgba is not None and image is None:
        return _pixels(rgba, size, name, length)
    raise BadPayloadError("image", "must be given, or rgba instead of it, but not both")


def _pixels(
    rgba: Buffer, size: tuple[int | None, int | None], name: str | None, length: int
) -> Pixels:
    width, height = _side(size[0], "width"), _side(size[1], "height")
    check_pixels(width, height)
    expected, actual = width * height * 4, memoryview(rgba).nbytes
    if expected != actual:
        raise BadPayloadError(
            "rgba",
            "must hold 4 bytes for each of width × height pixels",  # noqa: RUF001 - a product
            expected=expected,
            actual=actual,
        )
    if name is None or not 0 < len(name) <= _FORMAT_LENGTH:
        raise BadPayloadError("format", f"must be a name of 1 to {_FORMAT_LENGTH} characters")
    return Pixels(bytes(rgba), width, height, name, length)


def _side(length: int | None, field: str) -> int:
    if length is None:
        raise DIMENSION.refusal(field, "a whole number")
    return length
