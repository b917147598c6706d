"""What is too much, checked before memory is spent on it."""

from handlers.errors import TooManyBytesError, TooManyPixelsError

MAX_BYTES = 64 * 1024 * 1024
MAX_PIXELS = 64_000_000


def check_bytes(length: int) -> None:
    """Raise TooManyBytesError if a file of ``length`` bytes is past the limit."""
    if length > MAX_BYTES:
        raise TooManyBytesError(length, MAX_BYTES)


def check_pixels(width: int, height: int) -> None:
    """Raise TooManyPixelsError if a picture of that size is past the limit."""
    if width * height > MAX_PIXELS:
        raise TooManyPixelsError(width, height, MAX_PIXELS)
