"""Six big pictures, made once and kept: drawing and encoding them takes a quarter of a minute.

``python -m tests.corpus`` makes them all and prints where they lie.
"""

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import PIL
from PIL import Image

from tests.corpus.photo import clouds, photo
from tests.corpus.png import png_file
from tests.corpus.small import encode

EDITION = 2
"""Raise this when a picture's recipe changes, so that no cache serves the old one."""

_FOLDER = Path(__file__).parents[2] / ".cache" / "corpus" / f"{EDITION}-{PIL.__version__}"


@dataclass(frozen=True)
class Recipe:
    """How a picture is made, its size, and whether every build decodes it to the same bits."""

    make: Callable[[], bytes]
    width: int
    height: int
    exact: bool = True


def big(name: str) -> Path:
    """Give the path of the picture ``name`` (a key of BIG), made if it is not there yet."""
    path = _FOLDER / name
    if not path.exists():
        _FOLDER.mkdir(parents=True, exist_ok=True)
        data = BIG[name].make()
        # whole or not at all, also when two test runs make it at once
        handle, draft = tempfile.mkstemp(dir=_FOLDER)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(draft).replace(path)
    return path


def _four_of(picture: Image.Image) -> Image.Image:
    """Give a picture four times as large, of four copies: drawing it whole would take as much."""
    return Image.fromarray(np.tile(np.asarray(picture), (2, 2, 1)))


def _jpeg_12_megapixels() -> bytes:
    return encode(_four_of(photo(2000, 1500, 1)), "JPEG", quality=90, subsampling="4:2:0")


def _png_24_megapixels() -> bytes:
    picture = photo(1500, 1000, 2).resize((6000, 4000), Image.Resampling.BICUBIC)
    return encode(picture, "PNG", compress_level=2)


def _cmyk_jpeg() -> bytes:
    """Give a CMYK picture with real black in it, as a printer's software separates colours."""
    inks = 255 - np.asarray(_four_of(photo(1500, 1000, 3))).astype(np.int16)
    black = inks.min(axis=2, keepdims=True) * 3 // 4
    separated = np.concatenate([inks - black, black], axis=2).astype(np.uint8)
    return encode(Image.fromarray(separated, "CMYK"), "JPEG", quality=90)


def _sixteen_bit_png() -> bytes:
    rng = np.random.default_rng(4)
    fields = np.stack([clouds(2000, 1500, rng) for _ in range(3)], axis=-1)
    return png_file(((fields + 1) * 32767.5).astype(np.uint16), level=3)


def _palette_gif() -> bytes:
    return encode(photo(1600, 1200, 5).quantize(256), "GIF")


def _webp_with_alpha() -> bytes:
    picture = photo(1600, 1200, 6).convert("RGBA")
    picture.putalpha(Image.radial_gradient("L").resize(picture.size))
    return encode(picture, "WEBP", quality=85)


BIG = {
    "photo-12mp-420.jpg": Recipe(_jpeg_12_megapixels, 4000, 3000, exact=False),
    "photo-24mp.png": Recipe(_png_24_megapixels, 6000, 4000),
    "print-cmyk.jpg": Recipe(_cmyk_jpeg, 3000, 2000),
    "deep-16bit.png": Recipe(_sixteen_bit_png, 2000, 1500),
    "palette.gif": Recipe(_palette_gif, 1600, 1200),
    "alpha.webp": Recipe(_webp_with_alpha, 1600, 1200),
}
