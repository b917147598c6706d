"""What a task costs in the pool here, beside its peers and beside bare workers.

    python -m bench.pool [--rounds 7]

One Chromium, one page, every subject's workers alive all the time. In each round the subjects take
turns, three passes each, in an order that moves on by one from round to round. The best pass
counts, because whatever else the machine does only makes a pass slower; figures are medians over
the rounds.

(a) milliseconds per task that does nothing, one by one and all sent at once, 1 and 2 workers
(b) milliseconds to bring megabytes to a worker, transferred and copied
(c) milliseconds until every promise has settled when the only worker dies and 100 tasks wait
(d) JavaScript heap of page and worker after 1,000 and after 10,000 tasks of every kind through the
    pool here. V8 keeps compiled code in the heap and compiles what runs often, so this is measured
    twice: in a browser that only interprets, and in one as usual, after as many tasks as it takes
    until everything is compiled

There are two floors, both bare workers with hand-written messages. `floor` posts everything at once
and lets the browser hold what waits. `floor-queue` posts a task when the one before is answered,
which is what a pool must do that can cancel, time and replace. All at once, the bound is on the
second; comlink, which posts everything like the first, is shown there without a bound.

Ratios are taken within a round. Two subjects are level if the one that is slower in the median was
as fast in at least a quarter of the rounds: then the difference is no larger than the noise.

When many megabytes arrive in a worker, V8 begins to mark its heap in steps, and that takes some
milliseconds, several times as long as the transfer, in bare workers too. So (b) is measured twice:
in a browser that does not begin collections early, where a transfer must be flat over size from 1
to 64 MB, and in one as usual.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from playwright.sync_api import sync_playwright

from bench.pool_peers.heap import HeapReader, Heaps
from bench.pool_peers.site import served
from tests.chromium import CHROMIUM, FLAGS, INTERPRETING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from playwright.sync_api import Page, Playwright

OURS = "ours"
PEERS = ("workerpool", "comlink", "threads")
FLOORS = ("floor", "floor-queue")
SUBJECTS = (OURS, *PEERS, *FLOORS)
HOLDING_BACK = ("workerpool", "threads")
"""Peers that send a worker one task at a time, as the pool here does."""

FLOOR_BOUND = 1.3
FLAT_BOUND = 1.3
HEAP_BOUND = 1.02
PASSES = 3
WAITING = 100
LIMIT_MS = 2000
WARM = 20_000
NOT_MARKING = "--js-flags=--no-incremental-marking"
DEATHS = {"crash": "an uncaught error", "close": "self.close()"}
CALL = "([name, given]) => import('./measure.js').then((module) => module[name](given))"


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


@contextmanager
def chromium(playwright: Playwright, flags: Sequence[str] = ()) -> Iterator[Page]:
    """Give a page of a browser that is there for as long as needed."""
    browser = playwright.chromium.launch(
        executable_path=CHROMIUM, headless=True, args=[*FLAGS, *flags]
    )
    yield browser.new_page()
    browser.close()


def call(page: Page, function: str, given: Any) -> Any:
    """Run one function of measure.js."""
    return page.evaluate(CALL, [function, given])


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


def report_moves(figures: Figures, words: str, bounds: Bounds) -> None:
    """Print (b) of one browser."""
    print(f"(b) ms until a worker has told the length of what it was sent, {words}")
    for kind, seen in figures.items():
        show(kind, seen, "floor", 2)
        if not kind.transferred:
            over_floor = statistics.median(ratios(seen, OURS, "floor"))
            bounds.at_most(f"{kind}: ours / floor", over_floor, FLOOR_BOUND)


def report_flat(figures: Figures, bounds: Bounds) -> None:
    """Print how much longer the largest transfer takes than the smallest."""
    least, *_, most = TRANSFERS
    growth = [b / a for a, b in zip(figures[least][OURS], figures[most][OURS], strict=True)]
    bounds.at_most(f"ours: {most} / {least}", statistics.median(growth), FLAT_BOUND)


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


def largest(page: Page, reader: HeapReader) -> Heaps:
    """Run 1,000 tasks and give the largest heaps on the way: what V8 drops, it compiles again."""
    seen = []
    for _ in range(5):
        call(page, "worn", 200)
        seen.append(reader.read())
    return Heaps(
        page=max(heaps.page for heaps in seen),
        worker=max(heaps.worker for heaps in seen),
        listeners=seen[-1].listeners,
    )


def report_heap(playwright: Playwright, origin: str, bounds: Bounds) -> None:
    """Measure and print (d), each in a browser of its own."""
    print("(d) bytes of JavaScript heap after a forced collection")
    for words, flags in (("interpreting", [INTERPRETING]), ("as usual", [])):
        with chromium(playwright, flags) as page:
            page.goto(origin)
            reader = HeapReader(page)
            if not flags:
                call(page, "worn", WARM)
                reader.read()  # the first collection throws away what is compiled anew after it
            before = largest(page, reader)
            call(page, "worn", 8000)
            after = largest(page, reader)
        for side in ("page", "worker"):
            first, last = getattr(before, side), getattr(after, side)
            what = f"{words}, {side}: {last:,} after 10,000 / {first:,} after 1,000"
            bounds.at_most(what, last / first, HEAP_BOUND)
        print(f"      {words}, listeners in the page: {before.listeners}, then {after.listeners}")
        if after.listeners > before.listeners:
            bounds.broken.append("no listener is left behind")


def main(arguments: list[str] | None = None) -> int:
    """Run the comparison; the exit code is 0 if every bound holds and 1 if not."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7, help="at least 2")
    chosen = parser.parse_args(arguments)
    bounds = Bounds()
    with served() as origin, sync_playwright() as playwright:
        with chromium(playwright) as page:
            page.goto(origin)
            report_tasks(in_rounds(page, chosen.rounds, TASKS), bounds)
            moves = in_rounds(page, chosen.rounds, [*TRANSFERS, COPY])
            report_moves(moves, "as usual", bounds)
            report_deaths(page, chosen.rounds, bounds)
        with chromium(playwright, [NOT_MARKING]) as page:
            page.goto(origin)
            moves = in_rounds(page, chosen.rounds, TRANSFERS)
            report_moves(moves, "no collection begun", bounds)
            report_flat(moves, bounds)
        report_heap(playwright, origin, bounds)
    for broken in bounds.broken:
        print(f"BROKEN: {broken}")
    return 1 if bounds.broken else 0


if __name__ == "__main__":
    sys.exit(main())
