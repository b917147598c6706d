"""What a task costs in the pool here, beside its peers and beside bare workers.

    python -m bench.pool [--rounds 24] [--passes 60]

One Chromium, one page, every subject's workers alive all the time. In each round the subjects take
turns, three passes each, in an order that moves on by one from round to round. The best pass
counts, because whatever else the machine does only makes a pass slower; figures are medians over
the rounds.

(a) milliseconds per task that does nothing, one by one and all sent at once, 1 and 2 workers
(b) milliseconds to bring megabytes to a worker, transferred and copied, beside its peers; then
    transfers of every size beside a bare worker alone, in a browser that does not begin collections
    early and in one as usual: what the pool adds must be the same at every size
(c) milliseconds until every promise has settled when the only worker dies and 100 tasks wait
(d) JavaScript heap of page and worker after 1,000 and after 10,000 tasks of every kind through the
    pool here

There are two floors, both bare workers with hand-written messages. `floor` posts everything at once
and lets the browser hold what waits. `floor-queue` posts a task when the one before is answered,
which is what a pool must do that can cancel, time and replace. All at once, the bound is on the
second; comlink, which posts everything like the first, is shown there without a bound.

Ratios are taken within a round. Two subjects are level if the one that is slower in the median was
as fast in at least a quarter of the rounds: then the difference is no larger than the noise.

When many megabytes arrive in a worker, V8 begins to mark its heap in steps, and that takes some
milliseconds, several times as long as the transfer, in bare workers too: hence the browser that
does not. What is judged, and how, stands in pool_peers/transfers.py and pool_peers/leaks.py.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

from bench.pool_peers.bounds import Bounds
from bench.pool_peers.browser import call, chromium
from bench.pool_peers.leaks import report_leaks
from bench.pool_peers.site import served
from bench.pool_peers.transfers import report_transfers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from playwright.sync_api import Page

OURS = "ours"
PEERS = ("workerpool", "comlink", "threads")
FLOORS = ("floor", "floor-queue")
SUBJECTS = (OURS, *PEERS, *FLOORS)
HOLDING_BACK = ("workerpool", "threads")
"""Peers that send a worker one task at a time, as the pool here does."""

FLOOR_BOUND = 1.3
PASSES = 3
WAITING = 100
LIMIT_MS = 2000
NOT_MARKING = "--js-flags=--no-incremental-marking"
DEATHS = {"crash": "an uncaught error", "close": "self.close()"}


@dataclass(frozen=True)
class Kind:
    """Something to measure, as measure.js knows it."""

    way: str
    workers: int = 1
    count: int = 0
    megabytes: int = 0
    transferred: bool = False

    @property
    def subjects(self) -> tuple[str, ...]:
        """Who is measured; where nothing waits, the two floors are the same, so one is enough."""
        return SUBJECTS if self.way == "allAtOnce" else SUBJECTS[:-1]

    def __str__(self) -> str:
        if self.megabytes:
            return f"{self.megabytes} MB {'transferred' if self.transferred else 'copied'}"
        words = "one by one" if self.way == "oneByOne" else f"{self.count} at once"
        return f"{words}, {self.workers} worker{'s' if self.workers > 1 else ''}"


TASKS = [
    Kind(way, workers=workers, count=count)
    for workers in (1, 2)
    for way, count in (("oneByOne", 300), ("allAtOnce", 1000))
]
TRANSFERS = [Kind("moved", megabytes=size, transferred=True) for size in (1, 16, 64)]
COPY = Kind("moved", megabytes=64)

Figures = dict[Kind, dict[str, list[float]]]
"""Milliseconds of each subject, one for each round."""


FEW_ROUNDS = 7
"""Of what moves megabytes or waits for what hangs: such figures need no more to be steady."""


def in_rounds(page: Page, rounds: int, kinds: Sequence[Kind]) -> Figures:
    """Measure everything `rounds` times, after one round that nobody counts."""
    figures: Figures = {kind: {name: [] for name in kind.subjects} for kind in kinds}
    for number in range(rounds + 1):
        for kind, seen in figures.items():
            turned = number % len(seen)
            names = [*kind.subjects[turned:], *kind.subjects[:turned]]
            given = {"names": names, "passes": PASSES, "kind": asdict(kind)}
            best = call(page, "round", given)
            if number > 0:
                for name, ms in best.items():
                    seen[name].append(ms)
    return figures


def ratios(seen: dict[str, list[float]], one: str, other: str) -> list[float]:
    """Give one subject's figure over another's, round by round."""
    return [a / b for a, b in zip(seen[one], seen[other], strict=True)]


def show(kind: Kind, seen: dict[str, list[float]], base: str, digits: int) -> None:
    """Print the medians of all subjects, and how often they hold that of `base`."""
    print(f"    {kind}")
    for name, values in seen.items():
        times = statistics.median(ratios(seen, name, base))
        median = statistics.median(values)
        print(f"      {name:12} {median:8.{digits}f} ms   {times:6.2f} x {base}")


def report_tasks(figures: Figures, bounds: Bounds) -> None:
    """Print (a)."""
    print("(a) ms per task that does nothing")
    for kind in TASKS:
        seen = figures[kind]
        waits = kind.way == "allAtOnce"
        floor, peers = ("floor-queue", HOLDING_BACK) if waits else ("floor", PEERS)
        show(kind, seen, floor, 4)
        over_floor = statistics.median(ratios(seen, OURS, floor))
        bounds.at_most(f"{kind}: ours / {floor}", over_floor, FLOOR_BOUND)
        for peer in peers:
            bounds.level(f"{kind}: ours / {peer}", ratios(seen, OURS, peer))


def report_moves(figures: Figures, bounds: Bounds) -> None:
    """Print (b) beside the peers."""
    print("(b) ms until a worker has told the length of what it was sent")
    for kind, seen in figures.items():
        show(kind, seen, "floor", 2)
        if not kind.transferred:
            over_floor = statistics.median(ratios(seen, OURS, "floor"))
            bounds.at_most(f"{kind}: ours / floor", over_floor, FLOOR_BOUND)


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


def main(arguments: list[str] | None = None) -> int:
    """Run the comparison; the exit code is 0 if every bound holds and 1 if not."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=24, help="at least 2")
    parser.add_argument("--passes", type=int, default=60, help="of transfers of every size")
    chosen = parser.parse_args(arguments)
    bounds = Bounds()
    few = min(chosen.rounds, FEW_ROUNDS)
    with served() as origin, sync_playwright() as playwright:
        with chromium(playwright, origin) as page:
            report_tasks(in_rounds(page, chosen.rounds, TASKS), bounds)
            report_moves(in_rounds(page, few, [*TRANSFERS, COPY]), bounds)
        for words, flags in (("no collection begun", [NOT_MARKING]), ("as usual", [])):
            with chromium(playwright, origin, flags) as page:
                report_transfers(page, chosen.passes, words, bounds)
        with chromium(playwright, origin) as page:
            report_deaths(page, few, bounds)
        print("(d) bytes of JavaScript heap after a forced collection")
        report_leaks(playwright, origin, bounds)
    for broken in bounds.broken:
        print(f"BROKEN: {broken}")
    return 1 if bounds.broken else 0


if __name__ == "__main__":
    sys.exit(main())
