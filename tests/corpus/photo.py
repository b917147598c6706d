"""Pictures that behave like photographs: soft gradients, hard edges, texture at every scale, noise.

All of it is drawn from a seed, so a picture is the same each time. Encoders care about the spread
of detail over the scales; here it falls with the scale as it does in a photograph, and a JPEG of
12 megapixels comes out at 2 to 4 MB like one from a camera.
"""

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Field = NDArray[np.float32]

_FINEST_CELL = 2
_COARSEST_CELL = 1024


def clouds(width: int, height: int, rng: np.random.Generator, fall: float = 0.55) -> Field:
    """Give noise in -1..1 of shape (height, width) whose octaves weaken by ``fall`` each."""
    total = np.zeros((height, width), np.float32)
    strength, cell = 1.0, _COARSEST_CELL
    while cell >= _FINEST_CELL:
        grid = rng.uniform(-1, 1, (height // cell + 2, width // cell + 2)).astype(np.float32)
        layer = Image.fromarray(grid).resize((width, height), Image.Resampling.BICUBIC)
        total += strength * np.asarray(layer)
        strength *= fall
        cell //= 2
    return np.clip(total / 2, -1, 1)


def photo(width: int, height: int, seed: int = 1) -> Image.Image:
    """Give an RGB landscape of ``width`` by ``height``: sky, ridges, bright discs, grain."""
    rng = np.random.default_rng(seed)
    rows = np.linspace(0, 1, height, dtype=np.float32)[:, None]
    columns = np.linspace(0, 1, width, dtype=np.float32)[None, :]
    cover = clouds(width, height, rng)
    top, bottom = rng.uniform(40, 200, 3), rng.uniform(120, 255, 3)
    channels = [top[c] + (bottom[c] - top[c]) * rows + (34 + 6 * c) * cover for c in range(3)]
    texture = clouds(width, height, rng, 0.8)
    for ridge in range(4):
        edge = 0.45 + 0.13 * ridge + 0.06 * clouds(width, 1, rng, 0.6)[0][None, :]
        land = rows > edge
        colour = rng.uniform(20, 190, 3) * (1 - 0.15 * ridge)
        for c in range(3):
            channels[c] = np.where(land, colour[c] + 60 * texture, channels[c])
    for _ in range(9):
        x, y, radius = rng.uniform(0, 1), rng.uniform(0, 1), rng.uniform(0.01, 0.06)
        disc = (columns - x) ** 2 + ((rows - y) * height / width) ** 2 < radius**2
        colour = rng.uniform(0, 255, 3)
        for c in range(3):
            channels[c] = np.where(disc, colour[c] + 12 * cover, channels[c])
    grain = rng.normal(0, 4, (height, width)).astype(np.float32)
    pixels = np.stack([np.clip(channel + grain, 0, 255) for channel in channels], axis=-1)
    return Image.fromarray(pixels.astype(np.uint8))


def checks(width: int, height: int, seed: int = 1, cell: int = 1) -> Image.Image:
    """Give strongly coloured squares of ``cell`` pixels in random colours: chroma's worst case."""
    rng = np.random.default_rng(seed)
    grid = rng.integers(0, 2, (-(-height // cell), -(-width // cell), 3), np.uint8) * 255
    pixels = grid.repeat(cell, axis=0).repeat(cell, axis=1)[:height, :width]
    return Image.fromarray(np.ascontiguousarray(pixels))
