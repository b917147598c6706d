"""How far apart two results are, and how far they may be: docs/decisions/decoding.md."""

from collections.abc import Mapping, Sequence
from typing import Any

TINY_BOUND = 0.15
"""For the inexact ones among the small samples: 6144 pixels are few for 256 bins."""

PHOTO_BOUND = 0.05
"""For a photograph of a quarter of a megapixel or more, as a JPEG with subsampled chroma."""

BIG_PHOTO_BOUND = 0.005
"""The same for ``photo-12mp-420.jpg``, whose blocks of 4 by 4 pixels even the decoders out."""


def total_variation(one: Sequence[int], other: Sequence[int]) -> float:
    """Give the share of pixels that fell into other bins: 0 for equal counts, at most 1."""
    return sum(abs(a - b) for a, b in zip(one, other, strict=True)) / (2 * sum(one))


def distance(one: Mapping[str, Any], other: Mapping[str, Any]) -> float:
    """Give the largest total variation over the red, green and blue bins of two results."""
    return max(total_variation(one["bins"][c], other["bins"][c]) for c in "rgb")
