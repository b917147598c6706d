"""Counting the colours of a small RGB picture, in two ways that give the same numbers."""

from dataclasses import dataclass

import numpy as np
from PIL import Image

from handlers.progress import Receiver

CELLS = 16 * 16 * 16
_CHUNK = 1 << 18


@dataclass(frozen=True)
class Counts:
    """How often each value and each of 4096 colour cells occurs, and the sums within each cell.

    ``bins`` holds 256 counts for each of red, green and blue. Cell (r >> 4) * 256 + (g >> 4) * 16
    + (b >> 4) of ``cube`` counts the pixels whose colour lies in it, and ``sums`` adds up their
    red, green and blue. Every value is an exact whole number.
    """

    bins: tuple[list[int], list[int], list[int]]
    cube: list[int]
    sums: tuple[list[int], list[int], list[int]]


def count_vectorised(image: Image.Image, progress: Receiver) -> Counts:
    """Count with Pillow's and NumPy's compiled loops, some rows at a time."""
    histogram = image.histogram()
    cube = np.zeros(CELLS, np.int64)
    sums = np.zeros((3, CELLS), np.float64)  # whole numbers below 2**53, so exact
    width, height = image.size
    rows = max(1, _CHUNK // width)
    for top in range(0, height, rows):
        band = image.crop((0, top, width, min(top + rows, height)))
        pixels = np.asarray(band).reshape(-1, 3)
        red, green, blue = pixels[:, 0], pixels[:, 1], pixels[:, 2]
        cells = (red >> 4).astype(np.intp)
        cells <<= 4
        cells |= green >> 4
        cells <<= 4
        cells |= blue >> 4
        cube += np.bincount(cells, minlength=CELLS)
        for channel, values in enumerate((red, green, blue)):
            sums[channel] += np.bincount(cells, weights=values, minlength=CELLS)
        progress(min(1.0, (top + rows) / height))
    reds, greens, blues = sums.astype(np.int64).tolist()
    return Counts(
        (histogram[:256], histogram[256:512], histogram[512:]), cube.tolist(), (reds, greens, blues)
    )


def count_loop(image: Image.Image, progress: Receiver) -> Counts:
    """Count with one step of Python for each pixel: what a vectorised count saves."""
    reds, greens, blues = [0] * 256, [0] * 256, [0] * 256
    cube = [0] * CELLS
    red_sums, green_sums, blue_sums = [0] * CELLS, [0] * CELLS, [0] * CELLS
    width, height = image.size
    rows = max(1, _CHUNK // 8 // width)
    for top in range(0, height, rows):
        band = iter(image.crop((0, top, width, min(top + rows, height))).tobytes())
        for red, green, blue in zip(band, band, band, strict=True):
            reds[red] += 1
            greens[green] += 1
            blues[blue] += 1
            cell = (red >> 4) << 8 | (green >> 4) << 4 | blue >> 4
            cube[cell] += 1
            red_sums[cell] += red
            green_sums[cell] += green
            blue_sums[cell] += blue
        progress(min(1.0, (top + rows) / height))
    return Counts((reds, greens, blues), cube, (red_sums, green_sums, blue_sums))
