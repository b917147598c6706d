"""What a task costs in the pool here, beside its peers and beside bare workers.

    python -m bench.pool [--rounds 7]

One Chromium, one page, every subject's workers alive all the time. Each round measures all of them,
in an order that moves on by one from round to round; figures are medians over the rounds.

(a) milliseconds per task that does nothing, one by one and all sent at once, 1 and 2 workers
(b) milliseconds to bring megabytes to a worker, transferred and copied
(c) milliseconds until every promise has settled when the only worker dies and 100 tasks wait
(d) heap of page and worker after 1,000 and after 10,000 tasks of every kind through the pool here

There are two floors, both bare workers with hand-written messages. `floor` posts everything at once
and lets the browser hold what waits. `floor-queue` posts a task when the one before is answered,
which is what a pool must do that can cancel, time and replace. All at once, the bound is on the second;
comlink, which posts everything like the first, is shown there but has no bound.

Ratios are taken within a round. Two subjects are level if the one that is slower in the median was
as fast in at least a quarter of the rounds: then the difference is no larger than the noise.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from playwright.sync_api import sync_playwright

from bench.pool_peers.heap import HeapReader
from bench.pool_peers.site import served
from tests.chromium import CHROMIUM, FLAGS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from playwright.sync_api import Browser, Page

OURS = "ours"
PEERS = ("workerpool", "comlink", "threads")
FLOORS = ("floor", "floor-queue")
SUBJECTS = (OURS, *PEERS, *FLOORS)
HOLDING_BACK = ("workerpool", "threads")
"""Peers that send a worker one task at a time, as the pool here does."""

FLOOR_BOUND = 1.3
HEAP_BOUND = 1.02
COUNT = 2000
SIZES_MB = (1, 16, 64)
WAITING = 100
LIMIT_MS = 2000
DEATHS = {"crash": "an uncaught error", "close": "self.close()"}
CALL = "([name, given]) => import('./measure.js').then((module) => module[name](given))"

Figures = dict[tuple[Any, ...], dict[str, list[float]]]
"""By kind of measurement: milliseconds of each subject, one for each round."""


@dataclass
class Bounds:
    """Which bounds were tried, and whether all of them held."""

    broken: list[str] = field(default_factory=list)

    def at_most(self, what: str, ratio: float, bound: float) -> None:
        """Print a ratio with its bound, and remember if it is over."""
        held = ratio <= bound
        print(f"      {what}: {ratio:.2f}, {'within' if held else 'OVER'} the bound of {bound}")
        if not held:
            self.broken.append(what)

    def level(self, what: str, ratios: Sequence[float]) -> None:
        """Print how two subjects compare over the rounds, and remember if ours is behind."""
        median = statistics.median(ratios)
        best_quarter = statistics.quantiles(ratios, n=4)[0]
        verdict = "ahead" if median < 1 else "level" if best_quarter <= 1 else "BEHIND"
        spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
        print(f"      {what}: {median:.2f} ({spread}), {verdict}")
        if verdict == "BEHIND":
            self.broken.append(what)


def call(page: Page, function: str, given: Any) -> Any:
    """Run one function of measure.js."""
    return page.evaluate(CALL, [function, given])


def kinds() -> Iterator[tuple[Any, ...]]:
    """Give every kind of measurement that the rounds alternate."""
    for workers in (1, 2):
        for how in ("oneByOne", "allAtOnce"):
            yield (how, workers)
    for megabytes in SIZES_MB:
        yield ("moved", megabytes, True)
    yield ("moved", SIZES_MB[-1], False)


def measured(page: Page, kind: tuple[Any, ...], name: str) -> float:
    """Measure one subject once: milliseconds per task, or for the whole amount."""
    if kind[0] == "moved":
        _, megabytes, transferred = kind
        given = {"name": name, "megabytes": megabytes, "transferred": transferred}
        return float(call(page, "moved", given))
    how, workers = kind
    return float(call(page, how, {"name": name, "workers": workers, "count": COUNT}))


def in_rounds(page: Page, rounds: int) -> Figures:
    """Measure everything `rounds` times, after one round that nobody counts."""
    figures: Figures = {kind: {name: [] for name in SUBJECTS} for kind in kinds()}
    for number in range(rounds + 1):
        turned = number % len(SUBJECTS)
        order = SUBJECTS[turned:] + SUBJECTS[:turned]
        for kind, seen in figures.items():
            for name in order:
                ms = measured(page, kind, name)
                if number > 0:
                    seen[name].append(ms)
    return figures


def ratios(seen: dict[str, list[float]], one: str, other: str) -> list[float]:
    """Give one subject's figure over another's, round by round."""
    return [a / b for a, b in zip(seen[one], seen[other], strict=True)]


def line(label: str, seen: dict[str, list[float]], base: str, digits: int) -> None:
    """Print the medians of all subjects, and how often they hold that of `base`."""
    print(f"    {label}")
    for name, values in seen.items():
        times = statistics.median(ratios(seen, name, base))
        median = statistics.median(values)
        print(f"      {name:12} {median:8.{digits}f} ms   {times:6.2f} x {base}")


def report_tasks(figures: Figures, bounds: Bounds) -> None:
    """Print (a)."""
    print("(a) ms per task that does nothing")
    words = {"oneByOne": "one by one", "allAtOnce": f"{COUNT} at once"}
    for (how, *rest), seen in figures.items():
        if how not in words:
            continue
        label = f"{words[how]}, {rest[0]} worker{'s' if rest[0] > 1 else ''}"
        floor, peers = ("floor", PEERS) if how == "oneByOne" else ("floor-queue", HOLDING_BACK)
        line(label, seen, floor, 4)
        over_floor = statistics.median(ratios(seen, OURS, floor))
        bounds.at_most(f"{label}: ours / {floor}", over_floor, FLOOR_BOUND)
        for peer in peers:
            bounds.level(f"{label}: ours / {peer}", ratios(seen, OURS, peer))


def report_moves(figures: Figures, bounds: Bounds) -> None:
    """Print (b)."""
    print("(b) ms until a worker has told the length of what it was sent")
    for (how, *rest), seen in figures.items():
        if how == "moved":
            megabytes, transferred = rest
            line(f"{megabytes} MB {'transferred' if transferred else 'copied'}", seen, "floor", 2)
    small, large = (figures["moved", size, True][OURS] for size in (SIZES_MB[0], SIZES_MB[-1]))
    copied = figures["moved", SIZES_MB[-1], False]
    growth = statistics.median(large) / statistics.median(small)
    print(f"      ours, transferred: {SIZES_MB[-1]} MB / {SIZES_MB[0]} MB = {growth:.2f}")
    over_floor = statistics.median(ratios(copied, OURS, "floor"))
    bounds.at_most("copied: ours / floor", over_floor, FLOOR_BOUND)


def report_deaths(page: Page, rounds: int, bounds: Bounds) -> None:
    """Measure and print (c); a subject that hangs once is not asked again."""
    print(f"(c) ms until {WAITING + 1} promises have settled; hangs: some not after {LIMIT_MS} ms")
    for task, words in DEATHS.items():
        print(f"    the only worker dies of {words}")
        seen: dict[str, list[float]] = {name: [] for name in (OURS, *PEERS, "floor")}
        hanging: dict[str, int] = {}
        for _ in range(rounds):
            for name in seen.keys() - hanging.keys():
                given = {"name": name, "task": task, "waiting": WAITING, "limit": LIMIT_MS}
                end = call(page, "killed", given)
                if end["settled"] <= WAITING:
                    hanging[name] = WAITING + 1 - int(end["settled"])
                seen[name].append(float(end["ms"]))
        for name, values in seen.items():
            median = f"{statistics.median(values):8.1f} ms"
            print(f"      {name:12} {f'hangs: {hanging[name]}' if name in hanging else median}")
        if OURS in hanging:
            bounds.broken.append(f"every promise settles after {words}")


def report_heap(browser: Browser, origin: str, bounds: Bounds) -> None:
    """Measure and print (d), in a page of its own."""
    print("(d) bytes in use after a forced collection")
    page = browser.new_page()
    page.goto(origin)
    reader = HeapReader(page)
    call(page, "worn", 1000)
    before = reader.read()
    call(page, "worn", 9000)
    after = reader.read()
    page.close()
    for side in ("page", "worker"):
        first, last = getattr(before, side), getattr(after, side)
        print(f"      {side:7} after 1,000: {first:9,}, after 10,000: {last:9,}")
        bounds.at_most(f"heap of the {side}, 10,000 / 1,000", last / first, HEAP_BOUND)
    print(f"      listeners in the page: {before.listeners}, then {after.listeners}")
    if after.listeners > before.listeners:
        bounds.broken.append("no listener is left behind")


def main(arguments: list[str] | None = None) -> int:
    """Run the comparison; the exit code is 0 if every bound holds and 1 if not."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7, help="at least 2")
    chosen = parser.parse_args(arguments)
    bounds = Bounds()
    with served() as origin, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        page = browser.new_page()
        page.goto(origin)
        figures = in_rounds(page, chosen.rounds)
        report_tasks(figures, bounds)
        report_moves(figures, bounds)
        report_deaths(page, chosen.rounds, bounds)
        report_heap(browser, origin, bounds)
        browser.close()
    for broken in bounds.broken:
        print(f"BROKEN: {broken}")
    return 1 if bounds.broken else 0


if __name__ == "__main__":
    sys.exit(main())
