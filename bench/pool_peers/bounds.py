"""Bounds that a comparison must hold, and which of them did not."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass
class Bounds:
    """Which bounds were tried, and whether all of them held."""

    broken: list[str] = field(default_factory=list)

    def at_most(self, what: str, ratio: float, bound: float) -> None:
        """Print a ratio with its bound, and remember if it is over."""
        held = ratio <= bound
        print(f"      {what}: {ratio:.3f}, {'within' if held else 'OVER'} the bound of {bound}")
        if not held:
            self.broken.append(what)

    def more_than(self, what: str, ratio: float, bound: float) -> None:
        """Print a ratio that must be over a bound, and remember if it is not."""
        held = ratio > bound
        print(f"      {what}: {ratio:.3f}, {'over' if held else 'NOT OVER'} the bound of {bound}")
        if not held:
            self.broken.append(what)

    def level(self, what: str, ratios: Sequence[float]) -> None:
        """Print how two subjects compare over the rounds, and remember if ours is behind."""
        median = statistics.median(ratios)
        verdict = "ahead" if median < 1 else "level" if best_quarter(ratios) <= 1 else "BEHIND"
        spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
        print(f"      {what}: {median:.2f} ({spread}), {verdict}")
        if verdict == "BEHIND":
            self.broken.append(what)


def best_quarter(values: Sequence[float]) -> float:
    """Give the value that a quarter of the rounds did not exceed."""
    return statistics.quantiles(values, n=4)[0]
