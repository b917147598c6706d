"""What a file's own framing says: frames, canvas, and whether the file is all there.

Decoders disagree on how they name a file that was cut short, and some of them allocate a canvas
before the caller can look at its size. These walks read offsets and lengths only, never pixels,
and never raise: framing that makes no sense is reported as such.
"""

import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass

FRAME_LIMIT = 10_000
"""Frames beyond this many are not counted: a hostile TIFF could hold millions of empty ones."""


@dataclass(frozen=True)
class Structure:
    """The framing of one file; ``canvas`` is (width, height) where it had to be read early."""

    frames: int = 1
    complete: bool = True
    intact: bool = True
    canvas: tuple[int, int] | None = None


def examine(kind: str, data: bytes) -> Structure:
    """Walk the framing of ``data``, a file of the taken format ``kind``."""
    try:
        return _WALKS[kind](data)
    except (struct.error, IndexError, OverflowError):
        # the last where an offset does not fit the machine's word, 32 bits in a browser
        return Structure(complete=False)


def _png(data: bytes) -> Structure:
    """Walk the chunks up to IEND and check the checksum of each, which Pillow does not for IDAT."""
    view = memoryview(data)
    position, frames = 8, 1
    while True:
        length, name = struct.unpack_from(">I4s", data, position)
        end = position + 8 + length
        (checksum,) = struct.unpack_from(">I", data, end)
        if zlib.crc32(view[position + 4 : end]) != checksum:
            return Structure(frames=frames, intact=False)
        if name == b"acTL" and length == 8:  # noqa: PLR2004 - the length of an acTL chunk
            frames = max(1, struct.unpack_from(">I", data, position + 8)[0])
        if name == b"IEND":
            return Structure(frames=min(frames, FRAME_LIMIT))
        position = end + 4


def _gif(data: bytes) -> Structure:
    """Walk the blocks up to the trailer; a file cut in a later frame counts the frames before."""
    frames = 0
    position = 13 + _colour_table(data[10])
    while frames < FRAME_LIMIT and position < len(data):
        introducer = data[position]
        if introducer == 0x3B:  # noqa: PLR2004 - the trailer
            return Structure(frames=max(1, frames))
        if introducer == 0x21:  # noqa: PLR2004 - an extension: label, sub-blocks
            position += 2
        elif introducer == 0x2C:  # noqa: PLR2004 - an image: descriptor, colours, code size
            if position + 9 >= len(data):
                break
            frames += 1
            position += 11 + _colour_table(data[position + 9])
        else:
            return Structure(frames=max(1, frames), intact=False)
        while position < len(data) and data[position]:
            position += data[position] + 1
        position += 1
    return Structure(frames=max(1, frames), complete=frames >= FRAME_LIMIT)


def _colour_table(flags: int) -> int:
    """Give the length in bytes of the colour table that ``flags`` announces."""
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0


def _webp(data: bytes) -> Structure:
    """Read the canvas from the first chunk and count ANMF chunks."""
    (riff,) = struct.unpack_from("<I", data, 4)
    complete = riff + 8 <= len(data)
    canvas, frames, position = None, 0, 12
    while position + 8 <= len(data) and frames < FRAME_LIMIT:
        name, length = struct.unpack_from("<4sI", data, position)
        canvas = canvas or _webp_canvas(name, data, position + 8)
        frames += name == b"ANMF"
        position += 8 + length + (length & 1)
    return Structure(frames=max(1, frames), complete=complete, canvas=canvas)


def _webp_canvas(name: bytes, data: bytes, at: int) -> tuple[int, int] | None:
    """Read (width, height) from a VP8X, VP8L or VP8 chunk whose body starts at ``at``."""
    if name == b"VP8X":
        width, height = data[at + 4 : at + 7], data[at + 7 : at + 10]
        return int.from_bytes(width, "little") + 1, int.from_bytes(height, "little") + 1
    if name == b"VP8L":
        (bits,) = struct.unpack_from("<I", data, at + 1)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if name == b"VP8 ":
        width_16, height_16 = struct.unpack_from("<HH", data, at + 6)
        return width_16 & 0x3FFF, height_16 & 0x3FFF
    return None


def _jpeg(data: bytes) -> Structure:
    """Walk the segments to the first scan and look for the end marker behind it."""
    position = 2
    while True:
        if data[position] != 0xFF:  # noqa: PLR2004 - a marker's first byte
            return Structure(intact=False)
        marker = data[position + 1]
        if marker == 0xFF:  # noqa: PLR2004 - fill byte
            position += 1
        elif marker in (0x01, *range(0xD0, 0xDA)):
            position += 2
        elif marker == 0xDA:  # noqa: PLR2004 - start of scan
            return Structure(complete=data.rfind(b"\xff\xd9") > position)
        else:
            position += 2 + int(struct.unpack_from(">H", data, position + 2)[0])


def _bmp(data: bytes) -> Structure:
    """Compare the length in the header, and that of uncompressed rows, with what is there."""
    (declared,) = struct.unpack_from("<I", data, 2)
    (offset, header) = struct.unpack_from("<II", data, 10)
    if header < 40:  # noqa: PLR2004 - the old header has no compression field
        return Structure(complete=declared <= len(data))
    width, height, _planes, bits, compression = struct.unpack_from("<iiHHI", data, 18)
    rows = 0 if compression not in (0, 3) else (abs(width) * bits + 31) // 32 * 4 * abs(height)
    return Structure(complete=max(declared, offset + rows) <= len(data))


def _tiff(data: bytes) -> Structure:
    """Count the directories, each once, and check that the first one's strips are all there."""
    order = "<" if data[:2] == b"II" else ">"
    big = data[2:4] in (b"+\0", b"\0+")
    offset_code, count_code, entry_size, start = ("Q", "Q", 20, 8) if big else ("I", "H", 12, 4)
    (offset,) = struct.unpack_from(order + offset_code, data, start)
    seen: set[int] = set()
    complete = True
    while offset and offset not in seen and len(seen) < FRAME_LIMIT:
        (entries,) = struct.unpack_from(order + count_code, data, offset)
        first = offset + struct.calcsize(count_code)
        if first + entries * entry_size > len(data):
            return Structure(frames=max(1, len(seen)), complete=False)
        if not seen and not big:
            complete = _tiff_extent(data, order, first, entries) <= len(data)
        seen.add(offset)
        (offset,) = struct.unpack_from(order + offset_code, data, first + entries * entry_size)
    return Structure(frames=max(1, len(seen)), complete=complete)


def _tiff_extent(data: bytes, order: str, first: int, entries: int) -> int:
    """Give the offset at which the farthest strip or tile of a classic directory ends."""
    values: dict[int, list[int]] = {}
    for entry in range(first, first + entries * 12, 12):
        tag, kind, count = struct.unpack_from(order + "HHI", data, entry)
        code = {3: "H", 4: "I"}.get(kind)
        if tag in (273, 279, 324, 325) and code:
            size = count * struct.calcsize(code)
            (indirect,) = struct.unpack_from(order + "I", data, entry + 8)
            at = entry + 8 if size <= 4 else indirect  # noqa: PLR2004 - fits in the entry
            if at + size > len(data):
                return int(at + size)
            numbers = struct.iter_unpack(order + code, data[at : at + size])
            values[tag] = [value for (value,) in numbers]
    offsets = values.get(273) or values.get(324) or [0]
    lengths = values.get(279) or values.get(325) or [0]
    return max(offset + length for offset, length in zip(offsets, lengths, strict=False))


_WALKS: dict[str, Callable[[bytes], Structure]] = {
    "PNG": _png,
    "GIF": _gif,
    "WebP": _webp,
    "JPEG": _jpeg,
    "BMP": _bmp,
    "TIFF": _tiff,
}
