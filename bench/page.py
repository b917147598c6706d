"""What counting a 12-megapixel JPEG does to the page, on either thread, and what it costs.

    python -m bench.page [--rounds 7] [--site site]

Each round measures an idle page, the worker, the main thread, CPython in this process and plain
JavaScript on a canvas, one after the other, so that a busy machine slows all alike. Figures are
medians over the rounds. Frames are watched by the page's own meter.

(a) longest frame gap while the worker counts, over that of an idle page for the same time
(b) longest frame gap while the main thread counts, over its computing time
(c) computing time in the worker, over the same function in CPython
(d) computing time in the worker, over createImageBitmap, a canvas and a loop in JavaScript
(e) copying 64 MB to a worker, over transferring it
"""

from __future__ import annotations

import argparse
import base64
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playwright.sync_api import sync_playwright

from bench.boot import ROOT
from bench.histogram import PHOTO, STAGES, stages_of
from tests.chromium import CHROMIUM, FLAGS
from tests.corpus import big

if TYPE_CHECKING:
    from playwright.sync_api import Page

RUN = (ROOT / "bench" / "page_run.js").read_text("utf-8")
CANVAS = (ROOT / "bench" / "canvas_count.js").read_text("utf-8")
WORKER_GAP_BOUND = 1.5
CPYTHON_BOUND = 2.5
FIRST_IDLE_MS = 500.0
TRANSFER_MB = 64

Figures = dict[str, Any]


def script(text: str) -> str:
    """Give the function of a file: Playwright takes an expression, without its comment."""
    return text[text.index("async (") :].rstrip().rstrip(";")


def rounds_on(page: Page, assets: str, picture: bytes, rounds: int) -> list[dict[str, Figures]]:
    """Measure all sides `rounds` times, after one round that nobody counts."""
    image = base64.b64encode(picture).decode()
    idle_ms = FIRST_IDLE_MS
    measured = []
    for _ in range(rounds + 1):
        seen: dict[str, Figures] = {}
        for place in ("idle", "worker", "main"):
            given = {"assets": assets, "place": place, "image": image, "idleMs": idle_ms}
            seen[place] = page.evaluate(script(RUN), given)
        size = {key: seen["worker"]["counted"][key] for key in ("width", "height")}
        seen["canvas"] = page.evaluate(script(CANVAS), {"image": image, **size})
        spent = stages_of(picture, "vectorised")
        seen["cpython"] = {"total": spent.pop("total"), "stages": spent}
        idle_ms = seen["worker"]["total"]
        measured.append(seen)
    return measured[1:]


def median_of(measured: list[dict[str, Figures]], side: str, *keys: str) -> float:
    """Give the median over the rounds of one figure of one side."""
    values = []
    for seen in measured:
        value: Any = seen[side]
        for key in keys:
            value = value[key]
        values.append(float(value))
    return statistics.median(values)


def distance(one: list[list[int]], other: list[list[int]]) -> float:
    """Give the total variation distance of two histograms, the largest of the three channels."""
    return max(
        sum(abs(a - b) for a, b in zip(left, right, strict=True)) / 2 / sum(left)
        for left, right in zip(one, other, strict=True)
    )


def transfer_ratio(page: Page) -> float:
    """Press the page's own button, and give how many times as long a copy of 64 MB took."""
    page.click("#transfer-run")
    row = page.locator(f"#transfer-table [data-size='{TRANSFER_MB}'][data-copied]")
    row.wait_for(timeout=120_000)
    copied = float(row.get_attribute("data-copied") or "nan")
    transferred = float(row.get_attribute("data-transferred") or "nan")
    print(
        f"(e) {TRANSFER_MB} MB copied {copied:.1f} ms, transferred {transferred:.2f} ms:"
        f" copy / transfer = {copied / transferred:.0f}"
    )
    return copied / transferred


def report(measured: list[dict[str, Figures]]) -> bool:
    """Print every ratio with what it is made of; tell whether those with a bound hold it."""
    idle = median_of(measured, "idle", "longestGap")
    worker_gap = median_of(measured, "worker", "longestGap")
    main_gap = median_of(measured, "main", "longestGap")
    main = median_of(measured, "main", "total")
    worker = median_of(measured, "worker", "total")
    cpython = median_of(measured, "cpython", "total")
    canvas = median_of(measured, "canvas", "total")
    gaps = worker_gap / idle
    slower = worker / cpython
    print(
        f"(a) longest gap: idle page {idle:.0f} ms, worker counting {worker_gap:.0f} ms:"
        f" ratio {gaps:.2f}, bound {WORKER_GAP_BOUND}"
    )
    print(
        f"(b) longest gap while the main thread counts {main_gap:.0f} ms, computing {main:.0f} ms:"
        f" ratio {main_gap / main:.2f}"
    )
    print(
        f"(c) worker {worker:.0f} ms, CPython {cpython:.0f} ms:"
        f" ratio {slower:.2f}, bound {CPYTHON_BOUND}; by stage:"
    )
    for stage in STAGES:
        browser = median_of(measured, "worker", "stages", stage)
        server = median_of(measured, "cpython", "stages", stage)
        print(f"      {stage:8} {browser:6.1f} ms / {server:6.1f} ms = {browser / server:.2f}")
    apart = distance(measured[-1]["worker"]["bins"], measured[-1]["canvas"]["bins"])
    print(
        f"(d) worker {worker:.0f} ms, canvas and JavaScript {canvas:.0f} ms:"
        f" ratio {worker / canvas:.2f}; their numbers lie {apart:.1%} apart (total variation)"
    )
    for stage in STAGES[:3]:
        peer = median_of(measured, "canvas", "stages", stage)
        print(f"      {stage:8} {peer:6.1f} ms in JavaScript")
    return gaps <= WORKER_GAP_BOUND and slower <= CPYTHON_BOUND


def main(arguments: list[str] | None = None) -> int:
    """Run the comparison; the exit code is 0 if every bound holds and 1 if not."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--site", type=Path, default=ROOT / "site")
    chosen = parser.parse_args(arguments)
    assets: str = json.loads((chosen.site / "site.json").read_text("utf-8"))["assets"]
    picture = big(PHOTO).read_bytes()
    command = [sys.executable, str(ROOT / "scripts" / "static_server.py"), f"/={chosen.site}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            origin = (server.stdout.readline() if server.stdout else "").strip()
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path=CHROMIUM, headless=True, args=FLAGS
                )
                page = browser.new_page(viewport={"width": 1280, "height": 800})
                page.goto(origin)
                within = report(rounds_on(page, assets, picture, chosen.rounds))
                transfer_ratio(page)
                browser.close()
        finally:
            server.terminate()
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
