"""Counting the colours of a small RGB picture, in two ways that give the same numbers."""

from dataclasses import dataclass
from typing import cast

from PIL import Image

from handlers.registry import Progress

CELLS = 16 * 16 * 16
EXACT_COLOURS = 4096
"""A picture with no more colours than this is told colour by colour, not in cells."""

_FINE_CELLS = 32 * 32 * 32
_ALL_BITS, _FINE_BITS = 0xFF, 0xF8
_FINE = [value & _FINE_BITS for value in range(256)] * 3
_BAND_PIXELS = 1 << 15

_Seen = list[tuple[int, tuple[int, int, int]]]


@dataclass(frozen=True)
class Colour:
    """A colour and how many pixels have it; ``doubled`` is twice its red, green and blue.

    Doubled, because the middle of a fine cell of 8 by 8 by 8 values lies half way between two.
    """

    doubled: tuple[int, int, int]
    count: int


@dataclass(frozen=True)
class Counts:
    """How often each value, each of 4096 cells and each colour occurs, in exact whole numbers.

    ``bins`` holds 256 counts for each of red, green and blue. Cell (r >> 4) * 256 + (g >> 4) * 16
    + (b >> 4) of ``cube`` counts the pixels whose colour lies in it. ``colours`` lists the colours
    that occur, or the middles of the fine cells where there are more than EXACT_COLOURS; no fine
    cell reaches over the edge of a cell of the cube.
    """

    bins: tuple[list[int], list[int], list[int]]
    cube: list[int]
    colours: list[Colour]


def count_vectorised(image: Image.Image, progress: Progress) -> Counts:
    """Count in Pillow's compiled loops, which leave Python a step for each colour, not pixel."""
    histogram = image.histogram()
    progress(0.3)
    exact = _colours(image, EXACT_COLOURS)
    seen = exact if exact is not None else _fine_cells(image)
    progress(0.9)
    cube = [0] * CELLS
    for number, (red, green, blue) in seen:
        cube[red >> 4 << 8 | green >> 4 << 4 | blue >> 4] += number
    progress(1.0)
    bins = histogram[:256], histogram[256:512], histogram[512:]
    return Counts(bins, cube, _listed(seen, fine=exact is None))


def count_loop(image: Image.Image, progress: Progress) -> Counts:
    """Count with one step of Python for each pixel: what compiled loops save."""
    reds, greens, blues = [0] * 256, [0] * 256, [0] * 256
    cube = [0] * CELLS
    seen: dict[tuple[int, int, int], int] = {}
    kept = _ALL_BITS
    width, height = image.size
    rows = max(1, _BAND_PIXELS // width)
    for top in range(0, height, rows):
        band = iter(image.crop((0, top, width, min(top + rows, height))).tobytes())
        for red, green, blue in zip(band, band, band, strict=True):
            reds[red] += 1
            greens[green] += 1
            blues[blue] += 1
            cube[red >> 4 << 8 | green >> 4 << 4 | blue >> 4] += 1
            colour = red & kept, green & kept, blue & kept
            seen[colour] = seen.get(colour, 0) + 1
        if kept == _ALL_BITS and len(seen) > EXACT_COLOURS:
            kept, seen = _FINE_BITS, _in_fine_cells(seen)
        progress(min(1.0, (top + rows) / height))
    numbers = [(number, colour) for colour, number in seen.items()]
    return Counts((reds, greens, blues), cube, _listed(numbers, fine=kept == _FINE_BITS))


def _colours(image: Image.Image, limit: int) -> _Seen | None:
    """Give (count, colour) for each colour, or None if there are more than ``limit``."""
    return cast("_Seen | None", image.getcolors(limit))


def _fine_cells(image: Image.Image) -> _Seen:
    """Give (count, lowest corner) for each fine cell that occurs."""
    return cast("_Seen", image.point(_FINE).getcolors(_FINE_CELLS))


def _in_fine_cells(seen: dict[tuple[int, int, int], int]) -> dict[tuple[int, int, int], int]:
    """Sum up the colours of each fine cell under its lowest corner."""
    cells: dict[tuple[int, int, int], int] = {}
    for (red, green, blue), number in seen.items():
        corner = red & _FINE_BITS, green & _FINE_BITS, blue & _FINE_BITS
        cells[corner] = cells.get(corner, 0) + number
    return cells


def _listed(seen: _Seen, *, fine: bool) -> list[Colour]:
    """List the colours in one order, whoever counted: a fine cell's corner as its middle."""
    middle = 7 if fine else 0
    return [
        Colour((2 * red + middle, 2 * green + middle, 2 * blue + middle), number)
        for number, (red, green, blue) in sorted(seen, key=lambda entry: entry[1])
    ]
