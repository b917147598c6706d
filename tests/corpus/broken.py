"""Two hundred files that must be refused, each with the codes of the refusals that are right."""

import random
import struct
import zlib
from dataclasses import dataclass

import numpy as np
from PIL import Image

from tests.corpus.foreign import FOREIGN
from tests.corpus.photo import photo
from tests.corpus.png import chunk, png_header
from tests.corpus.small import encode, small

COUNT = 200
_CUT = frozenset({"truncated", "corrupted"})
_BAD = frozenset({"corrupted"})
_HUGE = frozenset({"too-many-pixels"})


@dataclass(frozen=True)
class Broken:
    """A file to refuse: ``codes`` are the error codes of which one must be given."""

    name: str
    data: bytes
    codes: frozenset[str]


def broken() -> list[Broken]:
    """Give the files in a fixed order; the last kind, damaged PNGs, fills up to 200."""
    files = [
        Broken("empty", b"", frozenset({"empty"})),
        *(Broken(name, data, frozenset({code})) for name, data, code in FOREIGN),
        *_cut_short(),
        *_bombs(),
        *_misframed(),
        *_unscaled(),
        *_noise(),
    ]
    return files + _flipped(COUNT - len(files))


def _cut_short() -> list[Broken]:
    """Cut a picture of each format and coding at eight places, from header to last tenth."""
    names = (
        *("444.jpg", "420.jpg", "progressive.jpg", "cmyk.jpg", "rgb.png", "palette-clear.png"),
        *("sixteen-rgb.png", "palette.gif", "lossy.webp", "lossless.webp", "alpha.webp"),
        *("rgb.bmp", "rgb.tiff", "lzw.tiff"),
    )
    samples = small()
    return [
        Broken(f"{name}-cut-{tenths}", data[: len(data) * tenths // 10], _CUT)
        for name in names
        for data in [samples[name].data]
        for tenths in (1, 2, 3, 5, 6, 7, 8, 9)
        if len(data) * tenths // 10 > 16  # past every signature
    ]


def _bombs() -> list[Broken]:
    """Give small files whose headers name more pixels than the limit."""
    image = Image.new("RGB", (8, 8))
    jpeg, gif = encode(image, "JPEG"), encode(image, "GIF")
    size = jpeg.index(b"\xff\xc0") + 5
    bmp, tiff = encode(image, "BMP"), encode(image, "TIFF")
    wide = tiff.index(struct.pack("<HHI", 256, 4, 1)) if b"\0\1\4\0" in tiff else 0
    nothing = chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
    canvas = b"VP8X" + struct.pack("<I", 10) + b"\0" * 4 + b"\xfe\x3f\0" * 2
    vp8l = b"VP8L" + struct.pack("<I", 10) + b"\x2f" + b"\xff\xff\xff\x0f" + b"\0" * 5
    files = {
        "png": png_header(60_000, 60_000) + nothing,
        "png-long": png_header(2**31 - 1, 1) + nothing,
        "png-one-past": png_header(8001, 8000) + nothing,
        "jpeg": jpeg[:size] + struct.pack(">HH", 65_500, 65_500) + jpeg[size + 4 :],
        "gif": gif[:6] + b"\xff\xff\xff\xff" + gif[10:],
        "bmp": bmp[:18] + struct.pack("<ii", 40_000, 40_000) + bmp[26:],
        "webp": b"RIFF" + struct.pack("<I", 4 + len(canvas)) + b"WEBP" + canvas,
        "webp-lossless": b"RIFF" + struct.pack("<I", 4 + len(vp8l)) + b"WEBP" + vp8l,
    }
    if wide:
        files["tiff"] = tiff[: wide + 8] + struct.pack("<I", 2**26) + tiff[wide + 12 :]
    return [Broken(f"bomb-{name}", data, _HUGE) for name, data in files.items()]


def _misframed() -> list[Broken]:
    """Give whole files whose headers contradict themselves."""
    samples = small()
    jpeg, gif, bmp = (samples[name].data for name in ("444.jpg", "palette.gif", "rgb.bmp"))
    webp, png = samples["lossless.webp"].data, samples["rgb.png"].data
    frame = jpeg.index(b"\xff\xc0") + 5
    files = {
        "jpeg-no-height": jpeg[:frame] + b"\0\0" + jpeg[frame + 2 :],
        "jpeg-no-width": jpeg[: frame + 2] + b"\0\0" + jpeg[frame + 4 :],
        "jpeg-no-tables": b"\xff\xd8"
        + jpeg[jpeg.index(b"\xff\xc0") :].replace(b"\xff\xc4", b"\xff\xfe"),
        "jpeg-bare": b"\xff\xd8\xff\xd9",
        "png-no-size": png_header(0, 0) + png[33:],
        "png-no-data": png_header(4, 4) + chunk(b"IEND", b""),
        "png-odd-depth": png_header(96, 64, bits=5) + png[33:],
        "png-odd-type": png_header(96, 64, colour_type=5) + png[33:],
        "png-not-zlib": png_header(96, 64) + chunk(b"IDAT", b"nonsense") + chunk(b"IEND", b""),
        "gif-no-image": gif[:13] + b"\0" * (3 * 32) + b"\x3b",
        "gif-odd-block": gif[:13] + b"\0" * (3 * 32) + b"\x99" * 20,
        "bmp-odd-depth": bmp[:28] + b"\x07\0" + bmp[30:],
        "bmp-odd-header": bmp[:14] + b"\x11\0\0\0" + bmp[18:],
        "webp-odd-chunk": webp[:12] + b"NONE" + webp[16:],
        "webp-damaged": webp[:20] + b"\0" * 12 + webp[32:],
        "tiff-no-directory": b"II\x2a\0" + b"\xff\xff\0\0" + b"\0" * 40,
        "tiff-empty-directory": b"II\x2a\0\x08\0\0\0" + b"\0" * 8,
        "tiff-circle": b"II\x2a\0\x08\0\0\0" + b"\0\0" + b"\x08\0\0\0",
    }
    return [Broken(name, data, _CUT) for name, data in files.items()]


def _unscaled() -> list[Broken]:
    """Give pictures without an agreed white, or in a compression that not every build knows."""
    values = np.linspace(0, 1, 64, dtype=np.float32).reshape(8, 8)
    image = Image.new("RGB", (8, 8), (10, 20, 30))
    lab = Image.frombytes("LAB", (8, 8), bytes(192))
    files = {
        "tiff-float": encode(Image.fromarray(values), "TIFF"),
        "tiff-32-bit": encode(Image.fromarray((values * 2**30).astype(np.int32)), "TIFF"),
        "tiff-lab": encode(lab, "TIFF"),
        "tiff-ycbcr": encode(Image.new("YCbCr", (64, 64)), "TIFF"),
        "tiff-fax": encode(image.convert("1"), "TIFF", compression="group4"),
        "tiff-deflate": encode(image, "TIFF", compression="tiff_adobe_deflate"),
        "tiff-jpeg": encode(image, "TIFF", compression="jpeg"),
    }
    return [Broken(name, data, frozenset({"no-decoder"})) for name, data in files.items()]


def _noise() -> list[Broken]:
    """Give random bytes behind the signature of each format."""
    dice = random.Random(7)  # noqa: S311 - a seed makes the same files again
    signatures = {
        "jpeg": b"\xff\xd8\xff\xe0",
        "png": b"\x89PNG\r\n\x1a\n",
        "gif": b"GIF89a",
        "webp": b"RIFF\x00\x02\0\0WEBP",
        "bmp": b"BM\x00\x02\0\0\0\0\0\0",
        "tiff": b"MM\0\x2a",
    }
    allowed = _CUT | _HUGE | {"no-decoder"}
    return [
        Broken(f"noise-{name}-{turn}", signature + dice.randbytes(500), allowed)
        for name, signature in signatures.items()
        for turn in range(2)
    ]


def _flipped(count: int) -> list[Broken]:
    """Flip one bit behind the header of a PNG: each chunk's checksum finds it."""
    dice = random.Random(8)  # noqa: S311 - a seed makes the same files again
    data = encode(photo(64, 48, 9), "PNG")
    files = []
    for turn in range(count):
        at = dice.randrange(41, len(data) - 16)  # inside IDAT's body
        damaged = bytearray(data)
        damaged[at] ^= 1 << dice.randrange(8)
        files.append(Broken(f"png-flip-{turn}", bytes(damaged), _BAD))
    return files
