"""Dusk over layered hills."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from paint.brush import HEIGHT, WIDTH, edge, finish, gradient, grid, lay, line, noise, rgb, shine

if TYPE_CHECKING:
    from PIL import Image

    from paint.brush import Field

_SKY = (
    (0.0, "#1d2b53"),
    (0.22, "#3f3f74"),
    (0.38, "#85567f"),
    (0.50, "#cf6f74"),
    (0.60, "#f2a27a"),
    (0.70, "#fcd39a"),
    (1.0, "#fde3b4"),
)
# (height of the ridge, its sway, the length of its waves, colour at the crest, in the valley)
_HILLS = (
    (0.610, 0.030, 900, "#d99a86", "#f3c79f"),
    (0.655, 0.040, 700, "#b77a80", "#e3ab96"),
    (0.710, 0.045, 560, "#8d5f78", "#c38a8b"),
    (0.775, 0.050, 480, "#624a6c", "#94687d"),
    (0.850, 0.055, 520, "#3f385b", "#654c6d"),
    (0.935, 0.060, 420, "#231f3c", "#352c4c"),
)
_SUN = (0.64, 0.545, 46)


def dusk() -> Image.Image:
    """Paint a low sun, lit clouds and six ridges that sink into mist."""
    rng = np.random.default_rng(1906)
    x, y = grid()
    sway = noise(rng, 1400, 260, 3) * 0.02
    canvas = gradient(_SKY, y / HEIGHT + sway)
    sun_x, sun_y = _SUN[0] * WIDTH, _SUN[1] * HEIGHT
    away = np.hypot(x - sun_x, y - sun_y)
    canvas = shine(canvas, rgb("#ffb066"), 0.75 * np.exp(-away / 210))
    canvas = _clouds(canvas, rng, away)
    canvas = shine(canvas, rgb("#ffdca0"), 0.5 * np.exp(-away / 60))
    canvas = lay(canvas, rgb("#fff3d2"), edge(_SUN[2] - away, 2.5))
    for height, sway_by, length, crest, valley in _HILLS:
        ridge = (height + sway_by * line(rng, length, 8, 0.44)) * HEIGHT
        below = y - ridge[None, :]
        tint = gradient(((0, crest), (1, valley)), np.clip(below / (0.11 * HEIGHT), 0, 1))
        tint = tint + (noise(rng, 260, 60, 6, 0.62) * 0.035)[..., None]
        warm = np.exp(-np.abs(x - sun_x) / 420) * np.exp(-np.clip(below, 0, None) / 26)
        tint = shine(tint, rgb("#ffb070"), 0.34 * warm * (1.1 - height))
        canvas = lay(canvas, tint, edge(below, 1.6))
    return finish(_birds(canvas), rng)


def _clouds(canvas: Field, rng: np.random.Generator, away: Field) -> Field:
    """Lay thin banks over the sky, glowing from below near the sun and violet far from it."""
    _x, y = grid()
    band = np.exp(-(((y / HEIGHT - 0.33) / 0.17) ** 2))
    body = np.clip(noise(rng, 900, 70, 7, 0.6) * 1.5 - 0.12, 0, 1) * band
    below = np.clip(body - np.roll(body, 7, axis=0), 0, 1) * 3.2
    canvas = lay(canvas, rgb("#5a4478"), np.clip(body * 0.62, 0, 1))
    near = np.exp(-away / 620)
    canvas = shine(canvas, rgb("#ff9d78"), np.clip(body * 0.75 * near, 0, 1))
    return shine(canvas, rgb("#ffc08a"), np.clip(below * near, 0, 0.8))


def _birds(canvas: Field) -> Field:
    """Add five birds, each two bent strokes."""
    x, y = grid()
    for at_x, at_y, span in (
        (0.31, 0.40, 15),
        (0.335, 0.385, 12),
        (0.352, 0.412, 11),
        (0.382, 0.396, 9),
        (0.29, 0.421, 9),
    ):
        across = (x - at_x * WIDTH) / span
        wing = -np.abs(np.sin(np.clip(np.abs(across), 0, 1) * 2.3)) * span * 0.42
        stroke = 1.5 * (1.15 - np.abs(across)) - np.abs(y - at_y * HEIGHT - wing)
        canvas = lay(canvas, rgb("#2a2446"), 0.85 * edge(stroke, 1.4) * (np.abs(across) < 1))
    return canvas
