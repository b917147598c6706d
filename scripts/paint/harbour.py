"""A harbour at the blue hour, and its reflection."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from paint.brush import HEIGHT, WIDTH, blur, edge, finish, gradient, grid, lay, noise, rgb, shine

if TYPE_CHECKING:
    from PIL import Image

    from paint.brush import Field

_SKY = (
    (0.0, "#1c3d5c"),
    (0.22, "#2f6277"),
    (0.40, "#6c9a98"),
    (0.52, "#c8c2a0"),
    (0.60, "#f0cf9e"),
    (1.0, "#f0cf9e"),
)
_WALLS = ("#b5483a", "#d9923f", "#e3c78a", "#3f6f7d", "#8c3d3f", "#c9a04f", "#5a7f73", "#d97b56")
_ROOFS = ("#5c2f2a", "#3c3136", "#6b3a2c", "#2f3a45")
_QUAY = 0.615
_LAMP = "#ffd98a"


def harbour() -> Image.Image:
    """Paint a row of gabled houses with lit windows, boats, and still water that doubles them."""
    rng = np.random.default_rng(77)
    _x, y = grid()
    canvas = gradient(_SKY, y / HEIGHT + noise(rng, 1200, 160, 4) * 0.03)
    streaks = np.clip(noise(rng, 900, 46, 6, 0.6) - 0.1, 0, 1) * np.exp(
        -(((y / HEIGHT) - 0.30) ** 2) / 0.02
    )
    canvas = shine(canvas, rgb("#f3b98a"), np.clip(streaks * 0.8, 0, 1))
    canvas = _far_shore(canvas, rng)
    canvas = _houses(canvas, rng)
    quay = edge(y - (_QUAY - 0.018) * HEIGHT, 1.2)
    stones = 0.85 + 0.15 * noise(rng, 34, 12, 3)
    canvas = lay(canvas, rgb("#4b4543") * stones[..., None], quay)
    canvas = _boats(canvas)
    return finish(_water(canvas, rng), rng, 0.008)


def _box(
    canvas: Field,
    paint: Field,
    left: float,
    top: float,
    right: float,
    bottom: float,
    *,
    opacity: float = 1,
) -> None:
    """Lay an upright rectangle, given in pixels, onto the canvas itself."""
    part = np.s_[
        max(0, int(top) - 2) : int(bottom) + 3, max(0, int(left) - 2) : max(0, int(right) + 3)
    ]
    x, y = (axis[part] for axis in grid())
    inside = np.minimum(np.minimum(x - left, right - x), np.minimum(y - top, bottom - y))
    canvas[part] = lay(canvas[part], paint, opacity * edge(inside, 1.2))


def _glow(canvas: Field, at_x: float, at_y: float, reach: float, strength: float) -> None:
    """Shed lamplight around a point, onto the canvas itself."""
    far = int(5 * reach)
    left, top = max(0, int(at_x) - far), max(0, int(at_y) - far)
    part = np.s_[top : int(at_y) + far, left : max(0, int(at_x) + far)]
    x, y = (axis[part] for axis in grid())
    mask = strength * np.exp(-np.hypot(x - at_x, y - at_y) / reach)
    canvas[part] = shine(canvas[part], rgb("#ffb65c"), mask)


def _far_shore(canvas: Field, rng: np.random.Generator) -> Field:
    """Lay a hill with haze behind the houses."""
    x, y = grid()
    crest = HEIGHT * (0.47 - 0.05 * np.sin(x / WIDTH * 4.2 + 0.6) - 0.012 * np.sin(x / 71))
    crest = crest + noise(rng, 40, 4000, 4) * 4
    tint = gradient(((0, "#52777d"), (1, "#a5a893")), np.clip((y - crest) / 170, 0, 1))
    return lay(canvas, tint, edge(y - crest, 2))


def _houses(canvas: Field, rng: np.random.Generator) -> Field:
    """Set gabled houses wall to wall along the quay."""
    left, number = -20.0, 0
    base = _QUAY * HEIGHT
    while left < WIDTH:
        width, tall = rng.uniform(96, 150), rng.uniform(190, 300)
        wall = rgb(_WALLS[(number * 3 + 1) % len(_WALLS)])
        roof = rgb(_ROOFS[rng.integers(len(_ROOFS))])
        canvas = _house(canvas, rng, (left, base - tall, left + width, base), wall, roof)
        left, number = left + width, number + 1
    return canvas


def _house(
    canvas: Field,
    rng: np.random.Generator,
    box: tuple[float, float, float, float],
    wall: Field,
    roof: Field,
) -> Field:
    """Paint one house: wall with worn plaster, gable, chimney, rows of windows, a door."""
    x, y = grid()
    left, top, right, bottom = box
    centre, width = (left + right) / 2, right - left
    pitch = rng.uniform(0.75, 1.25)
    _box(canvas, roof * 0.8, right - 34, top - width * 0.46, right - 20, top)
    slope = y - (top - width * pitch / 2) - np.abs(x - centre) * pitch
    gable = edge(slope, 1.4) * (y < top + 1) * (np.abs(x - centre) < width / 2)
    canvas = lay(canvas, roof * (0.92 + 0.08 * np.sin(y * 0.9))[..., None], gable)
    part = np.s_[int(top) : int(bottom), max(0, int(left)) : int(right)]
    shade = 0.80 + 0.24 * (y[part] - top) / (bottom - top)
    worn = 0.018 * np.sin(x[part] * 0.31) * np.sin(y[part] * 0.23)
    canvas[part] = wall * (shade + worn)[..., None]
    _box(canvas, wall * 0.55, right - 3, top, right, bottom)
    _box(canvas, rgb("#f3e6cf"), left, top - 2, right, top + 3, opacity=0.75)
    columns = 3 if width > 118 else 2
    for row in range(int((bottom - top - 60) // 58)):
        for column in range(columns):
            at_x = left + width * (column + 1) / (columns + 1)
            _window(canvas, at_x, top + 34 + row * 58, lit=rng.random() < 0.5)
    door = left + width * (0.28 if rng.random() < 0.5 else 0.72)
    _box(canvas, wall * 0.35, door - 13, bottom - 52, door + 13, bottom)
    _glow(canvas, door, bottom - 60, 14, 0.6)
    return canvas


def _window(canvas: Field, at_x: float, at_y: float, *, lit: bool) -> None:
    """Paint a window with frame and cross, lamp-lit or showing the sky."""
    frame = rgb("#efe2c8")
    pane = rgb(_LAMP) if lit else rgb("#3d5a68")
    bar = rgb("#a8703a") if lit else frame
    _box(canvas, frame, at_x - 13, at_y - 18, at_x + 13, at_y + 18, opacity=0.9)
    _box(canvas, pane, at_x - 10, at_y - 15, at_x + 10, at_y + 15)
    _box(canvas, bar, at_x - 1, at_y - 15, at_x + 1, at_y + 15, opacity=0.8)
    _box(canvas, bar, at_x - 10, at_y - 1, at_x + 10, at_y + 1, opacity=0.8)
    if lit:
        _glow(canvas, at_x, at_y, 24, 0.28)


def _boats(canvas: Field) -> Field:
    """Moor three sailing boats: hull, cabin, mast, stays, a furled sail."""
    x, y = grid()
    line = (_QUAY + 0.030) * HEIGHT
    for at, half, hull in ((330, 92, "#f0ece0"), (820, 120, "#27495c"), (1270, 84, "#8f2f2c")):
        keel = line + 12
        depth = np.clip((y - (line - 16)) / 28, 0, 1)
        reach = half * (1 - 0.24 * depth**2) - np.abs(x - at - 6 * depth)
        body = edge(reach, 1.6) * edge(y - (line - 16), 1.4) * edge(keel - y, 1.4)
        _box(canvas, rgb("#5b4a3c"), at - 8, line - 250 - half * 0.5, at - 4, line - 16)
        for end in (at - half + 6, at + half - 6):
            span = end - (at - 6)
            top = line - 246 - half * 0.5
            along = np.clip((x - (at - 6)) / span, 0, 1)
            rope = edge(0.8 - np.abs(y - (top + along * (line - 16 - top))) * 0.55, 1.3)
            canvas = lay(canvas, rgb("#3a3a3c"), 0.6 * rope * (along > 0) * (along < 1))
        _box(canvas, rgb("#5b4a3c"), at - 6, line - 60, at + half * 0.74, line - 57)
        _box(canvas, rgb("#d8c9a8"), at - 4, line - 72, at + half * 0.70, line - 60)
        _box(canvas, rgb("#c3a67c"), at - half * 0.4, line - 33, at + half * 0.3, line - 15)
        canvas = lay(canvas, rgb(hull), body)
        canvas = lay(canvas, rgb("#f6efe0"), body * edge(3 - np.abs(y - line + 11), 1.2))
    return canvas


def _water(canvas: Field, rng: np.random.Generator) -> Field:
    """Mirror what stands above the water line, broken by ripples that widen towards us."""
    _x, y = grid()
    level = int((_QUAY + 0.037) * HEIGHT)
    below = np.clip(y - level, 0, None)
    depth = below / (HEIGHT - level)
    ripple = noise(rng, 150, 9, 5, 0.7) + 0.5 * noise(rng, 420, 22, 4, 0.6)
    columns = np.arange(WIDTH)[None, :] + ripple * (3 + 20 * depth)
    rows = level - below * 0.98 + ripple * (1 + 11 * depth)
    mirror = canvas[
        np.clip(rows, 0, level - 1).astype(np.intp), np.clip(columns, 0, WIDTH - 1).astype(np.intp)
    ]
    mirror = blur(mirror, 1.3) * 0.84
    tint = gradient(((0, "#3f5f63"), (1, "#10283a")), depth)
    mirror = lay(mirror, tint, 0.16 + 0.34 * depth)
    crests = np.clip(ripple - 0.34, 0, 1) * 1.5
    mirror = shine(mirror, rgb("#f0d2a0"), np.clip(crests * (0.5 - 0.25 * depth), 0, 1))
    return lay(canvas, mirror, edge(y - level, 1.5))
