"""Time until the second worker is ready, and until a pool of two is, beside plain workers.

    python -m bench.pool_start [--rounds 3] [--site site]

All in Chromium, from the same server with the same compression and caching, alternating.

The second worker starts when the first is ready, from what that one shares. Its time over the first
one's is taken in one page, with a profile that never saw the site and on that profile's second
visit, in a new browser process.

The pool is a WorkerPool of size 2, until both workers are ready. Plain means two workers that start
at once, each with `loadPyodide`, `loadPackage(["numpy", "pillow"])` from the official wheels, and
`import numpy, PIL.Image`. Both have visited before, so all files and what compiled code the browser
keeps are there.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

from bench.boot_page.visit import ROOT, new_profile, serving, visit

if TYPE_CHECKING:
    from playwright.sync_api import Playwright

Times = dict[str, list[float]]

BOUND = 0.5
# How long a reader stays: the browser writes compiled code to disk in that time.
STAY_S = 5.0

ONE_AFTER_THE_OTHER = """
async ({assets, runtimeURL}) => {
  const boot = (shared) => new Promise((resolve, reject) => {
    const started = performance.now();
    const worker = new Worker(assets + "worker.js", {type: "module"});
    worker.postMessage({type: "boot", config: {runtimeURL, ...(shared && {shared})}});
    worker.onerror = (event) => reject(new Error(event.message));
    worker.onmessage = ({data}) => {
      if (data.type === "ready") {
        resolve({ms: performance.now() - started, path: data.boot.path, shared: data.shared});
      }
      if (data.type === "boot-failed") { reject(new Error(data.error.message)); }
    };
  });
  const first = await boot();
  const second = await boot(first.shared);
  if (second.path !== "shared") { throw new Error("the second worker used nothing of the first"); }
  return [first.ms, second.ms];
}
"""

POOL = """
async ({assets, runtimeURL}) => {
  const {WorkerPool} = await import(assets + "page/pool.js");
  const started = performance.now();
  const ready = [];
  const pool = await new Promise((resolve, reject) => {
    const pool = new WorkerPool({
      url: assets + "worker.js",
      size: 2,
      config: {runtimeURL},
      onEvent({type, boot}) {
        if (type === "worker-gone") { reject(new Error("a worker did not get ready")); }
        if (type === "worker-ready" && ready.push(boot.path) === 2) { resolve(pool); }
      },
    });
  });
  const ms = performance.now() - started;
  pool.destroy();
  return ms;
}
"""

PLAIN = """
async ({runtimeURL, lockFileURL}) => {
  const started = performance.now();
  await Promise.all([1, 2].map(() => new Promise((resolve, reject) => {
    const worker = new Worker("peer.js", {type: "module"});
    worker.postMessage({runtimeURL, lockFileURL});
    worker.onerror = (event) => reject(new Error(event.message));
    worker.onmessage = resolve;
  })));
  return performance.now() - started;
}
"""


def measure(playwright: Playwright, where: dict[str, str], times: Times) -> None:
    """Add one round to `times`, in milliseconds."""
    with new_profile() as profile:
        for kind in ("cold", "second visit"):
            with visit(playwright, profile, where, ONE_AFTER_THE_OTHER) as (first, second):
                times[f"{kind}, worker 1"].append(first)
                times[f"{kind}, worker 2"].append(second)
                time.sleep(STAY_S)
        with visit(playwright, profile, where, POOL) as ready:
            times["pool of 2"].append(ready)
    with new_profile() as profile:
        with visit(playwright, profile, where, PLAIN):
            time.sleep(STAY_S)
        with visit(playwright, profile, where, PLAIN) as ready:
            times["2 plain workers"].append(ready)


COMPARED = (
    ("cold, worker 2", "cold, worker 1"),
    ("second visit, worker 2", "second visit, worker 1"),
    ("pool of 2", "2 plain workers"),
)


def report(times: Times) -> bool:
    """Print medians and ratios; tell whether every ratio is within the bound."""
    for name, values in times.items():
        middle = statistics.median(values)
        print(f"{name:24} median {middle:6.0f} ms, {min(values):.0f} to {max(values):.0f}")
    within = True
    for name, other in COMPARED:
        ratio = statistics.median(times[name]) / statistics.median(times[other])
        verdict = "within" if ratio <= BOUND else "OVER"
        print(f"{name} / {other} = {ratio:.2f}, {verdict} the bound of {BOUND}")
        within = within and ratio <= BOUND
    return within


def main(arguments: list[str] | None = None) -> int:
    """Run the comparison; the exit code is 0 if every bound holds and 1 if not."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--site", type=Path, default=ROOT / "site")
    chosen = parser.parse_args(arguments)
    times: Times = defaultdict(list)
    with (
        tempfile.TemporaryDirectory() as nothing,
        serving(chosen.site, Path(nothing)) as where,
        sync_playwright() as playwright,
    ):
        for _ in range(chosen.rounds):
            measure(playwright, where, times)
    return 0 if report(times) else 1


if __name__ == "__main__":
    sys.exit(main())
