"""Time from nothing to the first result, beside a plain boot of the same Pyodide.

    python -m bench.boot [--rounds 5] [--site site]

Both sides run in Chromium, in a module worker, from the same server with the same compression and
caching, and alternate. Plain means `loadPyodide`, `loadPackage(["numpy", "pillow"])` with the
official wheels, `import numpy, PIL.Image`, and a count of one picture's colours. This build's side
ends when the task `histogram` has answered for the same picture, which is more work.

Cold is a profile that never saw the site. The second visit is the same profile in a new browser
process, so nothing is left but what the browser keeps on disk.
"""

from __future__ import annotations

import argparse
import io
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image
from playwright.sync_api import sync_playwright

from bench.boot_page.visit import ROOT, new_profile, serving, visit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Playwright

BOUNDS = {"cold": 0.6, "second visit": 0.45}
# How long a reader stays: the browser writes compiled code to disk in that time.
STAY_S = 5.0

OURS = """
async ({assets, runtimeURL, data}) => {
  const image = new Uint8Array(await (await fetch(data + "picture.jpg")).arrayBuffer());
  const started = performance.now();
  const worker = new Worker(assets + "worker.js", {type: "module"});
  worker.postMessage({type: "boot", config: {runtimeURL}});
  worker.postMessage({type: "run", id: 1, task: "histogram", payload: {image}});
  return await new Promise((resolve, reject) => {
    let boot;
    worker.onerror = (event) => reject(new Error(event.message));
    worker.onmessage = ({data}) => {
      if (data.type === "ready") { boot = {...data.boot, ready: performance.now() - started}; }
      if (data.type === "done") {
        const stages = Object.fromEntries(boot.stages.map(({name, ms}) => [name, ms]));
        resolve({ms: performance.now() - started, path: boot.path,
                 stages: {...stages, ready: boot.ready}});
      }
      if (["boot-failed", "failed", "fatal"].includes(data.type)) {
        reject(new Error(data.error.message));
      }
    };
  });
}
"""

PLAIN = """
async ({runtimeURL, lockFileURL, data}) => {
  const image = new Uint8Array(await (await fetch(data + "picture.jpg")).arrayBuffer());
  const started = performance.now();
  const worker = new Worker("peer.js", {type: "module"});
  worker.postMessage({runtimeURL, lockFileURL, image});
  return await new Promise((resolve, reject) => {
    worker.onerror = (event) => reject(new Error(event.message));
    worker.onmessage = ({data}) => {
      if (data.type === "done") {
        resolve({ms: performance.now() - started, path: "plain", stages: data.stages});
      }
    };
  });
}
"""


@dataclass(frozen=True)
class Visit:
    """One page load: which side, which kind, milliseconds to the first result and by stage."""

    side: str
    kind: str
    ms: float
    path: str
    stages: dict[str, float]


def picture() -> bytes:
    """Give a JPEG of 1024 x 768 with smooth areas and noise, always the same one."""
    noise = np.random.default_rng(7).normal(0, 12, (768, 1024, 3))
    ramp = np.linspace(0, 255, 1024)[None, :, None] * np.array([1.0, 0.6, 0.3])
    encoded = io.BytesIO()
    Image.fromarray((ramp + noise).clip(0, 255).astype(np.uint8)).save(encoded, "JPEG")
    return encoded.getvalue()


def visits(playwright: Playwright, where: dict[str, str]) -> Iterator[Visit]:
    """Visit with a new profile, then again, once for each side."""
    for side, script in (("ours", OURS), ("plain", PLAIN)):
        with new_profile() as profile:
            for kind in BOUNDS:
                with visit(playwright, profile, where, script) as result:
                    if kind == "cold":
                        time.sleep(STAY_S)
                yield Visit(side, kind, result["ms"], result["path"], result["stages"])


def report(seen: list[Visit]) -> bool:
    """Print medians, ratios and stages; tell whether both ratios are within their bounds."""
    within = True
    for kind, bound in BOUNDS.items():
        medians = {}
        for side in ("ours", "plain"):
            chosen = [visit for visit in seen if (visit.side, visit.kind) == (side, kind)]
            times = [visit.ms for visit in chosen]
            medians[side] = statistics.median(times)
            stages = ", ".join(
                f"{name} {statistics.median(visit.stages[name] for visit in chosen):.0f}"
                for name in chosen[0].stages
            )
            paths = "/".join(sorted({visit.path for visit in chosen}))
            print(
                f"{kind:12} {side:5} ({paths}) median {medians[side]:6.0f} ms, "
                f"{min(times):.0f} to {max(times):.0f}; ends of stages in ms: {stages}"
            )
        ratio = medians["ours"] / medians["plain"]
        verdict = "within" if ratio <= bound else "OVER"
        print(f"{kind:12} ours / plain = {ratio:.2f}, {verdict} the bound of {bound}")
        within = within and ratio <= bound
    return within


def main(arguments: list[str] | None = None) -> int:
    """Run the comparison; the exit code is 0 if both bounds hold and 1 if not."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--site", type=Path, default=ROOT / "site")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "picture.jpg").write_bytes(picture())
        with serving(chosen.site, Path(name)) as where, sync_playwright() as playwright:
            seen = [one for _ in range(chosen.rounds) for one in visits(playwright, where)]
    return 0 if report(seen) else 1


if __name__ == "__main__":
    sys.exit(main())
