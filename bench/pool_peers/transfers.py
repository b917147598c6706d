"""Whether a transfer through the pool is flat over size.

Even the bare worker's transfer grows a little with the bytes: on both sides the browser keeps
account of memory outside the heap, and frees what the moves before left. So what the pool adds is
measured, against the bare worker at every size, and copies are shown beside.

All sizes and both subjects take turns in every pass, in an order that turns round. Figures are
medians over the passes, ratios are taken within a pass.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench.pool_peers.browser import call

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from bench.pool_peers.bounds import Bounds

OURS, FLOOR = SUBJECTS = ("ours", "floor")
SIZES = (1, 2, 4, 8, 16, 32, 64)
"""Megabytes."""

BOUND = 1.3
AT_ONCE = 6
"""Passes in one call."""


@dataclass(frozen=True)
class Moves:
    """Milliseconds of the moves of one size, one of each subject for each pass."""

    megabytes: int
    ours: list[float]
    floor: list[float]

    @property
    def ratio(self) -> float:
        """What the pool takes over what the bare worker takes."""
        return statistics.median(a / b for a, b in zip(self.ours, self.floor, strict=True))

    @property
    def added(self) -> float:
        """Milliseconds that the pool adds."""
        return statistics.median(a - b for a, b in zip(self.ours, self.floor, strict=True))


def report_transfers(page: Page, passes: int, words: str, bounds: Bounds) -> None:
    """Measure and print transfers and copies of every size."""
    print(f"    {words}, {passes} passes")
    kinds = [(size, transferred) for transferred in (True, False) for size in SIZES]
    kinds = [kind for kind in kinds if kind[1] or kind[0] in {SIZES[0], SIZES[-1]}]
    seen = _measured(page, passes, kinds)
    moves = [
        (transferred, Moves(size, *([each[at][name] for each in seen] for name in SUBJECTS)))
        for at, (size, transferred) in enumerate(kinds)
    ]
    for transferred, each in moves:
        ours, floor = statistics.median(each.ours), statistics.median(each.floor)
        print(
            f"      {each.megabytes:2} MB {'transferred' if transferred else 'copied':11}"
            f" ours {ours:7.3f} ms, floor {floor:7.3f} ms, the pool adds {each.added:6.3f} ms"
        )
    flat = [each for transferred, each in moves if transferred]
    copied = [each for transferred, each in moves if not transferred]
    for each in flat:
        bounds.at_most(f"{words}: {each.megabytes} MB, ours / floor", each.ratio, BOUND)
    growth = _growth(flat, OURS) / _growth(flat, FLOOR)
    bounds.at_most(f"{words}: growth of ours / growth of the floor", growth, BOUND)
    for name in SUBJECTS:
        print(
            f"      {name}, {SIZES[-1]} MB / {SIZES[0]} MB: transferred"
            f" {_growth(flat, name):.2f}, copied {_growth(copied, name):.1f}"
        )


def _measured(
    page: Page, passes: int, kinds: list[tuple[int, bool]]
) -> list[list[dict[str, float]]]:
    """Give milliseconds of each pass, kind and subject, after passes that nobody counts."""
    given: dict[str, Any] = {
        "names": SUBJECTS,
        "passes": AT_ONCE,
        "kinds": [
            {"megabytes": size, "transferred": transferred, "workers": 1, "way": "moved"}
            for size, transferred in kinds
        ],
    }
    seen: list[list[dict[str, float]]] = []
    while len(seen) < passes + AT_ONCE:
        seen += call(page, "moves", given)
    return seen[AT_ONCE : AT_ONCE + passes]


def _growth(moves: list[Moves], name: str) -> float:
    """Give how much longer the largest takes than the smallest."""
    return statistics.median(
        last / first
        for first, last in zip(getattr(moves[0], name), getattr(moves[-1], name), strict=True)
    )
