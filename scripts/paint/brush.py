"""What the scenes are painted with: noise, gradients, soft edges, light.

A canvas is an array of shape (height, width, 3) with values from 0 to 1; a mask is (height, width)
and says how much of the paint sticks.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageFilter

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import NDArray

    Field = NDArray[np.floating[Any]]

WIDTH, HEIGHT = 1600, 1067


def rgb(colour: str) -> Field:
    """Give "#rrggbb" as three numbers from 0 to 1."""
    return np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)], np.float32)


def noise(
    rng: np.random.Generator, across: float, down: float, octaves: int = 5, fall: float = 0.55
) -> Field:
    """Give clouds of noise from -1 to 1 whose largest shapes measure ``across`` by ``down``."""
    total = np.zeros((HEIGHT, WIDTH), np.float32)
    strength = 1.0
    for _ in range(octaves):
        columns, rows = max(2, round(WIDTH / across) + 2), max(2, round(HEIGHT / down) + 2)
        grid = rng.uniform(-1, 1, (rows, columns)).astype(np.float32)
        layer = Image.fromarray(grid).resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC)
        total += strength * np.asarray(layer)
        strength *= fall
        across, down = max(1.0, across / 2), max(1.0, down / 2)
    strongest: np.floating[Any] = np.abs(total).max()
    return total / strongest


def line(rng: np.random.Generator, length: float, octaves: int = 7, fall: float = 0.5) -> Field:
    """Give a wandering line from -1 to 1, one value a column, with waves of ``length`` pixels."""
    total = np.zeros(WIDTH, np.float32)
    strength = 1.0
    for _ in range(octaves):
        knots = rng.uniform(-1, 1, max(4, round(WIDTH / length) + 3)).astype(np.float32)
        grid = np.tile(knots, (2, 1))
        row = Image.fromarray(grid).resize((WIDTH, 2), Image.Resampling.BICUBIC)
        total += strength * np.asarray(row)[0]
        strength *= fall
        length = max(2.0, length / 2)
    strongest: np.floating[Any] = np.abs(total).max()
    return total / strongest


def gradient(stops: Sequence[tuple[float, str]], along: Field) -> Field:
    """Colour each value of ``along`` by the stops (place from 0 to 1, colour) around it."""
    places = [place for place, _ in stops]
    colours = np.stack([rgb(colour) for _, colour in stops])
    return np.stack(
        [np.interp(along, places, colours[:, channel]) for channel in range(3)], axis=-1
    ).astype(np.float32)


@lru_cache(maxsize=1)
def grid() -> tuple[Field, Field]:
    """Give x and y of each pixel, in pixels; nobody writes into them."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float32)
    return x, y


def edge(distance: Field, softness: float = 1.0) -> Field:
    """Give 1 where ``distance`` (in pixels) is positive, 0 where negative, soft between."""
    mask: Field = np.clip(distance / softness + 0.5, 0, 1)
    return mask


def lay(canvas: Field, paint: Field, mask: Field) -> Field:
    """Lay ``paint`` (a colour or a whole canvas) over the canvas where the mask says so."""
    return canvas + (paint - canvas) * mask[..., None]


def shine(canvas: Field, light: Field, mask: Field) -> Field:
    """Add light so that it never blows out: the brighter the canvas, the less it takes."""
    return 1 - (1 - canvas) * (1 - light * mask[..., None])


def blur(canvas: Field, radius: float) -> Field:
    """Soften a canvas or a mask."""
    pixels = Image.fromarray((np.clip(canvas, 0, 1) * 255).astype(np.uint8))
    return np.asarray(pixels.filter(ImageFilter.GaussianBlur(radius))).astype(np.float32) / 255


def finish(canvas: Field, rng: np.random.Generator, grain: float = 0.012) -> Image.Image:
    """Give the canvas as an image: a breath of vignette, of canvas weave and of grain."""
    x, y = grid()
    away = ((x / WIDTH - 0.5) ** 2 + (y / HEIGHT - 0.5) ** 2) * 2
    weave = noise(rng, 90, 14, 4, 0.7) * 0.014
    specks = rng.normal(0, grain, (HEIGHT, WIDTH)).astype(np.float32)
    canvas = canvas * (1 - 0.22 * away**1.5)[..., None] + (weave + specks)[..., None]
    return Image.fromarray((np.clip(canvas, 0, 1) * 255 + 0.5).astype(np.uint8))
