"""A decoded picture to a small RGB one, the same to the last bit wherever it runs.

Each counted pixel is the mean of a whole block of f by f pixels, with f the smallest whole number
that brings both sides within ``max_side``. Pillow does that in integers. A resize to an exact
length would weigh pixels with floating-point numbers, and a JPEG decoder's own scaling differs
from build to build: docs/decisions/decoding.md.

The orientation moves pixels but changes none, and counting does not ask where a pixel lies. So
nothing is turned here; only the sizes are named for the upright picture.
"""

import numpy as np
from PIL import Image

from handlers.decode import Decoded
from handlers.errors import NoDecoderError
from handlers.sniff import TAKEN

BACKGROUND = 255
"""Transparent parts are laid over white."""

_BAND_PIXELS = 1 << 20
_PLAIN = ("RGB", "YCbCr", "L")
_CONVERTIBLE = ("1", "L", "P", "RGB", "RGBX", "CMYK", "YCbCr")
_WITH_ALPHA = ("RGBA", "LA", "PA", "RGBa", "La")
_SIXTEEN_BIT = ("I;16", "I;16L", "I;16B", "I;16N")
_UNSCALED = {"F": "with floating-point pixels", "I": "with 32-bit pixels", "LAB": "in CIELAB"}


def shrink(decoded: Decoded, max_side: int) -> Image.Image:
    """Give an RGB image whose sides are at most ``max_side``, and add the notes that apply.

    The decoded image is given up on the way: its memory is free afterwards. Raises NoDecoderError
    for pixels that have no agreed range from black to white.
    """
    image = decoded.image
    factor = -(-max(image.size) // max_side)
    if image.mode in _PLAIN and not image.has_transparency_data:
        small = image if factor == 1 else image.reduce(factor)
        small = small.convert("RGB") if small.mode != "RGB" else small
    else:
        small = _in_bands(decoded, factor)
    if small is not image:
        image.close()
    return small


def _in_bands(decoded: Decoded, factor: int) -> Image.Image:
    """Convert and reduce some rows at a time, so that no second picture of full size exists."""
    image = decoded.image
    width, height = image.size
    small = Image.new("RGB", (-(-width // factor), -(-height // factor)))
    rows = factor * max(1, _BAND_PIXELS // (width * factor))
    for top in range(0, height, rows):
        band = _to_rgb(decoded, image.crop((0, top, width, min(top + rows, height))))
        small.paste(band if factor == 1 else band.reduce(factor), (0, top // factor))
    return small


def _to_rgb(decoded: Decoded, band: Image.Image) -> Image.Image:
    """Convert one band to RGB: alpha over white, CMYK by the plain formula, 16 bits to 8."""
    if band.mode in _SIXTEEN_BIT:
        return _from_sixteen_bit(decoded, band)
    if band.mode in _CONVERTIBLE and not band.has_transparency_data:
        return band.convert("RGB")
    if band.mode in _CONVERTIBLE or band.mode in _WITH_ALPHA:
        if decoded.sixteen_bit and isinstance(band.info.get("transparency"), tuple):
            band.info["transparency"] = tuple(v >> 8 for v in band.info["transparency"])
        return _over_white(decoded, band.convert("RGBA"))
    kind = f"{decoded.format} {_UNSCALED.get(band.mode, f'of mode {band.mode}')}"
    raise NoDecoderError(kind, TAKEN, browser_may_decode=False)


def _from_sixteen_bit(decoded: Decoded, band: Image.Image) -> Image.Image:
    """Keep the upper 8 of 16 bits of grey, as Pillow does for colour."""
    values = np.asarray(band)
    grey = Image.fromarray((values >> 8).astype(np.uint8))
    clear = band.info.get("transparency")
    if isinstance(clear, int):
        alpha = Image.fromarray(np.where(values == clear, 0, 255).astype(np.uint8))
        return _over_white(decoded, Image.merge("RGBA", (grey, grey, grey, alpha)))
    return grey.convert("RGB")


def _over_white(decoded: Decoded, band: Image.Image) -> Image.Image:
    """Lay an RGBA band over white, and note it if anything was transparent."""
    alpha = band.getchannel("A")
    lowest, _highest = alpha.getextrema()
    colours = band.convert("RGB")
    if lowest == BACKGROUND:
        return colours
    decoded.notes.add("alpha-over-white")
    white = Image.new("RGB", band.size, (BACKGROUND, BACKGROUND, BACKGROUND))
    white.paste(colours, mask=alpha)
    return white
