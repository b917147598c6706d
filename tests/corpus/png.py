"""PNG files that Pillow cannot write: 16-bit colour, a clear colour of 16 bits, a bare header."""

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

_COLOUR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}


def chunk(name: bytes, body: bytes) -> bytes:
    """Frame one chunk with its length and checksum."""
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def png_header(width: int, height: int, bits: int = 8, colour_type: int = 2) -> bytes:
    """Give the signature and IHDR of a picture."""
    body = struct.pack(">IIBBBBB", width, height, bits, colour_type, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", body)


def png_file(pixels: NDArray[np.uint16], clear: tuple[int, ...] = (), level: int = 6) -> bytes:
    """Encode ``pixels`` of shape (height, width, channels) with 16 bits a channel."""
    height, width, channels = pixels.shape
    rows = pixels.astype(">u2").reshape(height, -1).view(np.uint8)
    filtered = np.hstack([np.zeros((height, 1), np.uint8), rows]).tobytes()
    transparency = chunk(b"tRNS", struct.pack(f">{len(clear)}H", *clear)) if clear else b""
    return (
        png_header(width, height, 16, _COLOUR_TYPES[channels])
        + transparency
        + chunk(b"IDAT", zlib.compress(filtered, level))
        + chunk(b"IEND", b"")
    )
