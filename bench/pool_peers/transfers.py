"""Whether a transfer through the pool is flat over size.

What the pool adds must not grow: at every size its transfer is held against that of the bare
worker with hand-written messages, and so is how much both grow from the least to the most bytes.
Copies, which grow with the bytes, are shown beside.

All sizes and both subjects take turns, in an order that turns round from pass to pass; in each pass
the best of some tries counts, because whatever else the machine does only makes a try slower.
Figures are medians over the passes, ratios are taken within a pass.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench.pool_peers.browser import call

if TYPE_CHECKING:
    from collections.abc import Sequence

    from playwright.sync_api import Page

    from bench.pool_peers.bounds import Bounds

OURS, FLOOR = SUBJECTS = ("ours", "floor")
SIZES = (1, 4, 16, 64)
"""Megabytes."""

BOUND = 1.3
TRIES = 4
COPY_PASSES = 5
AT_ONCE = 5
"""Passes in one call, and how many nobody counts before the first."""


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

    def __str__(self) -> str:
        added = statistics.median(a - b for a, b in zip(self.ours, self.floor, strict=True))
        ours, floor = statistics.median(self.ours), statistics.median(self.floor)
        return f"ours {ours:7.3f} ms, floor {floor:7.3f} ms, the pool adds {added:6.3f} ms"


def report_transfers(page: Page, passes: int, words: str, bounds: Bounds) -> None:
    """Measure and print transfers of every size and copies of the least and the most."""
    print(f"    {words}, {passes} passes, the best of {TRIES} tries in each")
    flat = _measured(page, SIZES, transferred=True, passes=passes, tries=TRIES)
    copied = _measured(page, (SIZES[0], SIZES[-1]), transferred=False, passes=COPY_PASSES, tries=1)
    for kind, moves in (("transferred", flat), ("copied", copied)):
        for each in moves:
            print(f"      {each.megabytes:2} MB {kind:11} {each}")
    for each in flat:
        bounds.at_most(f"{words}, {each.megabytes} MB: ours / floor", each.ratio, BOUND)
    ours, floor = (_growth(flat, name) for name in SUBJECTS)
    bounds.at_most(f"{words}: growth of ours / growth of the floor", ours / floor, BOUND)
    for name in SUBJECTS:
        print(
            f"      {name}, {SIZES[-1]} MB / {SIZES[0]} MB: transferred"
            f" {_growth(flat, name):.2f}, copied {_growth(copied, name):.1f}"
        )


def _measured(
    page: Page, sizes: Sequence[int], *, transferred: bool, passes: int, tries: int
) -> list[Moves]:
    """Give the moves of each size, after passes that nobody counts."""
    kinds = [
        {"megabytes": size, "transferred": transferred, "workers": 1, "way": "moved"}
        for size in sizes
    ]
    given: dict[str, Any] = {"names": SUBJECTS, "passes": AT_ONCE, "tries": tries, "kinds": kinds}
    seen: list[list[dict[str, float]]] = []
    while len(seen) < AT_ONCE + passes:
        seen += call(page, "moves", given)
    counted = seen[AT_ONCE : AT_ONCE + passes]
    return [
        Moves(size, *([each[at][name] for each in counted] for name in SUBJECTS))
        for at, size in enumerate(sizes)
    ]


def _growth(moves: Sequence[Moves], name: str) -> float:
    """Give how many times longer the most bytes take than the least, in the medians."""
    least, *_, most = (
        statistics.median(each.ours if name == OURS else each.floor) for each in moves
    )
    return most / least
