"""Whether tasks leave anything behind: the heap after 10,000 of them against after 1,000.

V8 keeps what it makes of functions in the same heap and makes more of it the longer they run, so
in a browser as usual a heap snapshot tells that from what the scripts keep, and only the latter is
judged. A second browser only interprets: there the whole heap is judged. A third one leaks about 50
bytes a task on purpose, on both sides, and must be caught.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.pool_peers.browser import call, chromium
from bench.pool_peers.heap import HeapReader
from tests.chromium import INTERPRETING

if TYPE_CHECKING:
    from playwright.sync_api import Page, Playwright

    from bench.pool_peers.bounds import Bounds
    from bench.pool_peers.heap import Heaps
    from bench.pool_peers.snapshot import Sizes

BOUND = 1.02
FIRST, LAST = 1_000, 10_000
SIDES = ("page", "worker")
SHOWN = 4
"""How many kinds of growth are listed."""


def report_leaks(playwright: Playwright, origin: str, bounds: Bounds) -> None:
    """Measure and print all three, each in a browser of its own."""
    print(f"    heap snapshots after {FIRST:,} and {LAST:,} tasks; without compiled code")
    with chromium(playwright, origin) as page:
        before, after = _snapshots(page, leaking=False)
    for side in SIDES:
        _show_growth(side, before[side], after[side])
        what = f"{side}: {after[side].kept:,} / {before[side].kept:,} bytes"
        bounds.at_most(what, after[side].kept / before[side].kept, BOUND)
    print("    the same, and both sides keep about 50 bytes a task on purpose")
    with chromium(playwright, origin) as page:
        before, after = _snapshots(page, leaking=True)
    for side in SIDES:
        what = f"{side}, a leak is seen: {after[side].kept:,} / {before[side].kept:,} bytes"
        bounds.more_than(what, after[side].kept / before[side].kept, BOUND)
    print("    the whole heap in a browser that only interprets")
    with chromium(playwright, origin, [INTERPRETING]) as page:
        first, last = _heaps(page)
    bounds.at_most(f"page: {last.page:,} / {first.page:,} bytes", last.page / first.page, BOUND)
    what = f"worker: {last.worker:,} / {first.worker:,} bytes"
    bounds.at_most(what, last.worker / first.worker, BOUND)
    print(f"      listeners in the page: {first.listeners}, then {last.listeners}")
    if last.listeners > first.listeners:
        bounds.broken.append("no listener is left behind")


def _snapshots(page: Page, *, leaking: bool) -> tuple[dict[str, Sizes], dict[str, Sizes]]:
    reader = HeapReader(page)
    call(page, "worn", {"count": FIRST, "leaking": leaking})
    before = reader.snapshots()
    call(page, "worn", {"count": LAST - FIRST, "leaking": leaking})
    return before, reader.snapshots()


def _heaps(page: Page) -> tuple[Heaps, Heaps]:
    reader = HeapReader(page)
    call(page, "worn", {"count": FIRST, "leaking": False})
    before = reader.read()
    call(page, "worn", {"count": LAST - FIRST, "leaking": False})
    return before, reader.read()


def _show_growth(side: str, before: Sizes, after: Sizes) -> None:
    compiled = after.compiled.total() - before.compiled.total()
    grown = compiled + after.kept - before.kept
    share = f", {compiled / grown:.0%} of the growth" if grown > 0 else ""
    print(f"      {side}, left out: {compiled:+,} bytes of compiled code{share}")
    for words, first, last in (
        ("of it", before.compiled, after.compiled),
        ("else", before.by_type, after.by_type),
    ):
        growth = {name: last[name] - first[name] for name in first | last}
        most = sorted(growth.items(), key=lambda item: abs(item[1]), reverse=True)[:SHOWN]
        listed = ", ".join(f"{name} {size:+,}" for name, size in most if size)
        print(f"        {words}: {listed or 'nothing'}")
