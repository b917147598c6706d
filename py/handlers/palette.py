"""A palette from the counted cells: few colours that stand for all, in whole numbers only.

The cells that occur are split into boxes, one cut at a time, always where a cut lowers the spread
of colours most. A cell's say grows with the square root of its count: a small sun over a large sea
then gets a swatch, though the shares are those of the real counts. A swatch is the mean of the
pixels in its box. Boxes don't overlap, so no two swatches are equal, and integers make every
machine choose the same.
"""

from dataclasses import dataclass
from math import isqrt

from handlers.count import Counts

_AXIS_WEIGHTS = (3, 4, 2)
"""How strongly the eye tells red, green and blue apart, roughly."""


@dataclass(frozen=True)
class _Cell:
    """One occupied cell: its place in the cube (0 to 15 on each axis) and its say."""

    index: int
    place: tuple[int, int, int]
    weight: int


@dataclass(frozen=True)
class _Cut:
    """The best cut of a box: cells with ``place[axis] < at`` go to the one side."""

    gain: float
    axis: int
    at: int


def palette(counts: Counts, colours: int) -> list[dict[str, object]]:
    """Give at most ``colours`` swatches, most frequent first, that together hold every pixel.

    There are fewer when fewer cells occur. Each swatch has ``hex``, ``rgb``, ``count`` and
    ``share`` (rounded to 6 digits); equal counts are in order of ``hex``.
    """
    boxes = [
        [
            _Cell(index, (index >> 8, index >> 4 & 15, index & 15), isqrt(count << 8))
            for index, count in enumerate(counts.cube)
            if count
        ]
    ]
    cuts = [_best_cut(boxes[0])]
    while len(boxes) < colours:
        widest = max(range(len(boxes)), key=lambda box: cuts[box].gain)
        cut = cuts[widest]
        if not cut.gain:
            break
        box = boxes[widest]
        boxes[widest] = [cell for cell in box if cell.place[cut.axis] < cut.at]
        boxes.append([cell for cell in box if cell.place[cut.axis] >= cut.at])
        cuts[widest] = _best_cut(boxes[widest])
        cuts.append(_best_cut(boxes[-1]))
    total = sum(counts.cube)
    swatches = [_swatch(counts, box, total) for box in boxes]
    return sorted(swatches, key=_rank)


def _best_cut(box: list[_Cell]) -> _Cut:
    """Find the cut with the largest fall in the sum of squared distances; gain 0 if none.

    The sums are exact integers and each gain is one correctly rounded division of two of them,
    so equal input gives equal floats everywhere.
    """
    best = _Cut(0.0, 0, 0)
    total = sum(cell.weight for cell in box)
    for axis, axis_weight in enumerate(_AXIS_WEIGHTS):
        weights = [0] * 16
        for cell in box:
            weights[cell.place[axis]] += cell.weight
        moment = sum(value * weight for value, weight in enumerate(weights))
        below = below_moment = 0
        for at in range(1, 16):
            below += weights[at - 1]
            below_moment += (at - 1) * weights[at - 1]
            above = total - below
            if not below or not above or not weights[at - 1]:
                continue
            # between-group spread: (m1/w1 - m2/w2)² · w1·w2/(w1+w2)
            apart = below_moment * above - (moment - below_moment) * below
            gain = axis_weight * apart * apart / (below * above * total)
            if gain > best.gain:
                best = _Cut(gain, axis, at)
    return best


def _swatch(counts: Counts, box: list[_Cell], total: int) -> dict[str, object]:
    """Describe the pixels of one box by their mean colour, rounded half up."""
    count = sum(counts.cube[cell.index] for cell in box)
    rgb = [
        (2 * sum(channel[cell.index] for cell in box) + count) // (2 * count)
        for channel in counts.sums
    ]
    share = round(count / total, 6)
    return {
        "hex": "#{:02x}{:02x}{:02x}".format(*rgb),
        "rgb": rgb,
        "count": count,
        # JavaScript writes 1.0 as 1, and both must write the same text
        "share": int(share) if share.is_integer() else share,
    }


def _rank(swatch: dict[str, object]) -> tuple[int, str]:
    """Order swatches by count, the largest first, then by colour."""
    count, name = swatch["count"], swatch["hex"]
    return (-count, name) if isinstance(count, int) and isinstance(name, str) else (0, "")
