"""Autumn leaves before light that has gone soft."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from paint.brush import HEIGHT, WIDTH, blur, edge, finish, gradient, grid, lay, noise, rgb, shine

if TYPE_CHECKING:
    from PIL import Image

    from paint.brush import Field

_DEPTH = (
    (0.0, "#15231d"),
    (0.35, "#2e3b26"),
    (0.55, "#5c4a25"),
    (0.75, "#9a5f26"),
    (1.0, "#e7a748"),
)
_LIGHTS = ("#ffcf70", "#f4a13c", "#e0762b", "#c9502a", "#ffe3a0", "#a9a24a", "#8f3b24")
# (x of the stalk, length in pixels, angle in degrees, colours from the stem to the tip)
_LEAVES = (
    (0.145, 250, 62, "#7d2a1c", "#b8402a", "#d8702f"),
    (0.275, 285, 104, "#a5481d", "#dd7f2a", "#f0b24a"),
    (0.425, 230, 55, "#6f2a20", "#a53a2a", "#cf5f33"),
    (0.545, 290, 96, "#b35f1e", "#eaa233", "#f9cf66"),
    (0.690, 240, 42, "#8a341f", "#c7542b", "#e58a3a"),
    (0.800, 215, 84, "#8a5a1e", "#d39a35", "#ecc765"),
    (0.345, 170, -38, "#7a4a1c", "#c08a30", "#e3bb58"),
    (0.620, 185, -52, "#93371f", "#d0602c", "#eb9a44"),
)


def autumn() -> Image.Image:
    """Paint a twig with leaves in front of warm discs of light."""
    rng = np.random.default_rng(1017)
    x, y = grid()
    glow = np.exp(-np.hypot((x / WIDTH - 0.74) * 1.3, y / HEIGHT - 0.36) * 2.1)
    canvas = gradient(_DEPTH, np.clip(glow * 1.05 + noise(rng, 700, 500, 3) * 0.16, 0, 1))
    canvas = _discs(canvas, rng, 46, (70, 150), 9, 0.20)
    canvas = blur(canvas, 10)
    canvas = _discs(canvas, rng, 60, (22, 74), 3, 0.26)
    canvas = _twig(canvas)
    for leaf in _LEAVES:
        canvas = _leaf(canvas, rng, *leaf)
    return finish(canvas, rng, 0.014)


def _discs(
    canvas: Field,
    rng: np.random.Generator,
    count: int,
    sizes: tuple[int, int],
    softness: float,
    strength: float,
) -> Field:
    """Add out-of-focus lights, brighter at their rims, denser towards the light."""
    x, y = grid()
    for _ in range(count):
        at_x = WIDTH * np.clip(rng.normal(0.66, 0.30), -0.05, 1.05)
        at_y = HEIGHT * np.clip(rng.normal(0.50, 0.30), -0.05, 1.05)
        radius = rng.uniform(*sizes)
        colour = rgb(_LIGHTS[rng.integers(len(_LIGHTS))])
        left, right = int(max(0, at_x - radius - 20)), int(min(WIDTH, at_x + radius + 20))
        top, bottom = int(max(0, at_y - radius - 20)), int(min(HEIGHT, at_y + radius + 20))
        if left >= right or top >= bottom:
            continue
        part = np.s_[top:bottom, left:right]
        away = np.hypot(x[part] - at_x, y[part] - at_y)
        rim = 0.72 + 0.28 * np.clip(away / radius, 0, 1) ** 6
        mask = edge(radius - away, softness) * rim * strength * rng.uniform(0.45, 1.25)
        canvas[part] = shine(canvas[part], colour, np.clip(mask, 0, 1))
    return canvas


def _spine(along: Any) -> Any:
    """Give the height of the twig, in pixels, over its length from 0 to 1."""
    return HEIGHT * (0.06 + 0.34 * along - 0.10 * along**2 + 0.012 * np.sin(along * 9))


def _twig(canvas: Field) -> Field:
    """Draw the twig from the upper left, tapering, lit along its upper side."""
    x, y = grid()
    along = x / WIDTH
    thickness = 7.5 * (1 - 0.86 * along / 0.86)
    away = y - _spine(along)
    mask = edge(thickness - np.abs(away), 1.8) * (along < 0.86)
    tint = gradient(
        ((0, "#8a6a4a"), (0.45, "#4a3226"), (1, "#1d1512")), away / (2 * thickness + 1e-3) + 0.5
    )
    return lay(canvas, tint, mask)


def _leaf(
    canvas: Field,
    rng: np.random.Generator,
    at_x: float,
    length: float,
    angle: float,
    stem: str,
    middle: str,
    tip: str,
) -> Field:
    """Draw one leaf: an outline with fine teeth, a rib, side veins, light through the blade."""
    x, y = grid()
    turn = np.deg2rad(angle)
    from_x = x - at_x * WIDTH
    from_y = y - _spine(np.float32(at_x))
    reach = 30.0
    along = (from_x * np.cos(turn) + from_y * np.sin(turn) - reach) / length
    bend = 0.10 * np.sin(along * 2.4)
    across = (-from_x * np.sin(turn) + from_y * np.cos(turn)) / length - bend * along
    inside = np.clip(along, 0, 1)
    half = 0.92 * inside**0.72 * (1 - inside) ** 0.92 * 0.74
    half = half + 0.026 * np.sin(inside * 130) * half
    mask = edge((half - np.abs(across)) * length, 1.6) * (along > 0) * (along < 1)
    shadow = blur(np.roll(mask, (16, 10), (0, 1)), 13) * 0.42
    canvas = lay(canvas, rgb("#120d0a"), shadow)
    stalk = edge(2.6 - np.abs(across) * length, 1.5) * (along <= 0.02) * (along * length > -reach)
    canvas = lay(canvas, rgb(stem), stalk)
    blotch = noise(rng, 120, 90, 5, 0.62) * 0.16
    tint = gradient(((0, stem), (0.45, middle), (1, tip)), np.clip(inside + blotch, 0, 1))
    side = np.clip(across / (half + 1e-3), -1, 1)
    tint = tint * (1 - 0.20 * np.clip(side, 0, 1) - 0.10 * np.abs(side) ** 3)[..., None]
    slant = along - np.abs(across) * 0.95
    phase = np.abs((slant * 11) % 1 - 0.5)
    veins = edge(0.055 - (0.5 - phase), 0.06) * (1 - np.abs(side)) ** 0.4 * (slant > 0.03)
    tint = shine(tint, rgb("#ffd58a"), np.clip(veins * 0.20, 0, 1))
    tint = tint * (1 - 0.10 * np.exp(-(((np.abs(side) - 0.5) / 0.35) ** 2)))[..., None]
    rib = edge((0.0125 * (1 - 0.75 * inside) - np.abs(across)) * length, 1.4)
    tint = lay(tint, rgb("#f3c27a"), 0.62 * rib)
    through = np.clip(noise(rng, 500, 400, 3) * 0.5 + 0.35, 0, 1) * 0.22 * (1 - np.abs(side) * 0.4)
    tint = shine(tint, rgb("#ffb347"), through)
    return lay(canvas, tint, mask)
