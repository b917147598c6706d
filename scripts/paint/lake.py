"""A mountain lake on a clear morning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from paint.brush import (
    HEIGHT,
    WIDTH,
    blur,
    edge,
    finish,
    gradient,
    grid,
    lay,
    line,
    noise,
    rgb,
    shine,
)

if TYPE_CHECKING:
    from PIL import Image

    from paint.brush import Field

_SKY = ((0.0, "#6fb3d9"), (0.30, "#a9d5e6"), (0.52, "#e4efe6"), (0.62, "#f8ecd6"), (1.0, "#f8ecd6"))
_SHORE = 0.60
_ROCK_IN_SHADE = ((0.0, "#4c6a86"), (0.5, "#5b7d92"), (1.0, "#7fa09f"))
_ROCK_IN_SUN = ((0.0, "#a7968a"), (0.5, "#a7a493"), (1.0, "#a9bda6"))


@dataclass(frozen=True)
class _Peak:
    """One mountain: where its top is, how steep its flanks, how far down the snow reaches."""

    at: float
    top: float
    left: float
    right: float
    snow: float
    haze: float
    shade: tuple[tuple[float, str], ...] = _ROCK_IN_SHADE
    sun: tuple[tuple[float, str], ...] = _ROCK_IN_SUN


_PEAKS = (
    _Peak(0.03, 0.300, 0.45, 0.52, 0.60, 0.46),
    _Peak(0.47, 0.270, 0.50, 0.56, 0.62, 0.44),
    _Peak(0.93, 0.285, 0.50, 0.48, 0.60, 0.46),
    _Peak(0.20, 0.235, 0.62, 0.66, 0.56, 0.24),
    _Peak(0.80, 0.245, 0.60, 0.60, 0.56, 0.24),
    _Peak(0.62, 0.150, 0.86, 0.78, 0.58, 0.05),
    _Peak(0.345, 0.330, 0.66, 0.70, 0.36, 0.10),
    _Peak(0.985, 0.360, 0.60, 0.60, 0.30, 0.10),
)


def lake() -> Image.Image:
    """Paint snow peaks, spruces and their reflection in turquoise water."""
    rng = np.random.default_rng(2962)
    _x, y = grid()
    canvas = gradient(_SKY, y / HEIGHT)
    puffs = np.clip(noise(rng, 620, 150, 7, 0.55) * 1.4 - 0.25, 0, 1)
    canvas = lay(
        canvas,
        rgb("#ffffff"),
        np.clip(puffs * np.exp(-(((y / HEIGHT) - 0.20) ** 2) / 0.02), 0, 0.85),
    )
    for peak in _PEAKS:
        canvas = _peak(canvas, rng, peak)
    for base, tall, colours in (
        (0.545, 40, ("#5f8a7e", "#8fae99")),
        (0.575, 62, ("#3d6b5d", "#6a9079")),
        (0.600, 90, ("#1f4a40", "#3d6b52")),
    ):
        canvas = _spruces(canvas, rng, base, tall, colours)
    canvas = _mirror(canvas, rng)
    return finish(_reeds(canvas, rng), rng, 0.013)


def _peak(canvas: Field, rng: np.random.Generator, peak: _Peak) -> Field:
    """Lay one mountain: a lit and a shaded flank that part at a wandering ridge, and snow."""
    x, y = grid()
    top = peak.top * HEIGHT
    from_top = x - peak.at * WIDTH
    flank = np.where(from_top < 0, peak.left, peak.right) * np.abs(from_top)
    jags = (line(rng, 110, 6, 0.58) * 16)[None, :] * np.clip(np.abs(from_top) / 60, 0.15, 1)
    below = y - top - flank - jags
    fall = np.clip((y - top) / (_SHORE * HEIGHT - top), 0, 1)
    wander = noise(rng, 320, 190, 5, 0.6)
    crags = noise(rng, 46, 70, 5, 0.6)
    lit = edge(wander * 150 * fall**0.8 + 34 * fall + crags * 26 - from_top, 7)
    lit = np.clip(lit + np.clip(crags - 0.22, 0, 1) * 0.55, 0, 1)
    rock = lay(gradient(peak.shade, fall), gradient(peak.sun, fall), lit)
    gullies = noise(rng, 58, 420, 4, 0.66) * 0.16 + crags * 0.05
    cover = edge((peak.snow + gullies - fall) * HEIGHT * 0.4, 9)
    snow = lay(rgb("#8fb0cf") + 0 * rock, rgb("#fff6e6"), lit)
    haze = rgb("#dfe9e4")
    painted = lay(lay(rock, snow, cover), haze, 0.62 * fall**1.6 + peak.haze * (1 - fall))
    return lay(canvas, painted, edge(below, 1.6))


def _spruces(
    canvas: Field, rng: np.random.Generator, base: float, tall: float, colours: tuple[str, str]
) -> Field:
    """Stand a row of spruces on a gentle bank, each a notched triangle."""
    _x, y = grid()
    bank = (base + 0.012 * line(rng, 500, 4)) * HEIGHT
    top = np.full(WIDTH, HEIGHT, np.float32)
    columns = np.arange(WIDTH, dtype=np.float32)
    at = -10.0
    while at < WIDTH + 10:
        size = tall * rng.uniform(0.55, 1.25)
        foot = bank[int(np.clip(at, 0, WIDTH - 1))] + 6
        away = np.abs(columns - at) / (size * 0.24)
        notch = 0.06 * (1 - np.abs((away * 4.5) % 1 - 0.5) * 2)
        top = np.minimum(top, np.where(away < 1, foot - size * (1 - away + notch), HEIGHT))
        at += size * rng.uniform(0.16, 0.42)
    crest = np.minimum(top, bank)
    below = y - crest[None, :]
    tint = gradient(((0, colours[0]), (1, colours[1])), np.clip(below / (tall * 1.5), 0, 1))
    needles = noise(rng, 9, 22, 3, 0.7) * 0.045
    return lay(canvas, tint + needles[..., None], edge(below, 1.5))


def _mirror(canvas: Field, rng: np.random.Generator) -> Field:
    """Double the shore in the lake, dimmer, greener, and combed by a light breeze."""
    _x, y = grid()
    level = int(_SHORE * HEIGHT)
    below = np.clip(y - level, 0, None)
    depth = below / (HEIGHT - level)
    ripple = noise(rng, 240, 8, 5, 0.68)
    breeze = np.exp(-(((depth - 0.18) / 0.05) ** 2)) + 0.6 * np.exp(-(((depth - 0.52) / 0.09) ** 2))
    shift = ripple * (1.5 + 16 * depth + 26 * breeze)
    rows = np.clip(level - below * 1.30 + shift, 0, level - 1).astype(np.intp)
    columns = np.clip(np.arange(WIDTH)[None, :] + shift * 0.6, 0, WIDTH - 1).astype(np.intp)
    mirror = blur(canvas[rows, columns], 1.4)
    water = gradient(((0, "#8fc3bd"), (0.4, "#3f9a9c"), (1, "#12505c")), depth)
    mirror = lay(mirror, water, 0.30 + 0.42 * depth)
    mirror = shine(mirror, rgb("#eaf6f0"), np.clip(breeze * (0.16 + ripple * 0.35), 0, 0.5))
    shore = np.exp(-(((y - level) / 3.2) ** 2))
    return lay(lay(canvas, mirror, edge(y - level, 1.4)), rgb("#dfe8d8"), 0.55 * shore)


def _reeds(canvas: Field, rng: np.random.Generator) -> Field:
    """Let reeds rise from the lower corners, in front of the water."""
    x, y = grid()
    for _ in range(150):
        corner = rng.random() < 0.6
        root = rng.beta(1, 3.4) * 520 if corner else WIDTH - rng.beta(1, 4) * 420
        tall = rng.uniform(90, 290) * (1 - abs(root - (0 if corner else WIDTH)) / 760)
        lean = rng.normal(0, 0.22) + (0.10 if corner else -0.10)
        top = int(max(0, HEIGHT - tall))
        part = np.s_[top:, :]
        up = np.clip((HEIGHT - y[part]) / tall, 0, 1)
        middle = root + lean * tall * up**1.8
        blade = edge(2.9 * (1 - up**2) + 0.3 - np.abs(x[part] - middle), 1.3) * (up < 1)
        dark, light = ("#17352c", "#5d7f4a") if rng.random() < 0.7 else ("#3a4a2a", "#b7a860")
        canvas[part] = lay(canvas[part], gradient(((0, dark), (1, light)), up), blade)
    return canvas
