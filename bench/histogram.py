"""What the histogram costs in CPython, stage by stage, beside other ways to the same numbers.

    python -m bench.histogram [FILE] [--rounds 7] [--json]

Every way runs once in each round, one after the other, so that a busy machine slows all alike; the
figures are medians, and the ratios are medians over the rounds of what was measured in one round.
Without FILE it takes the 12-megapixel JPEG of the corpus. ``--json`` is for the browser's bench,
which puts its own figures over these.
"""

from __future__ import annotations

import argparse
import io
import json
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

import handlers
from tests.corpus import big

if TYPE_CHECKING:
    from collections.abc import Callable

PHOTO = "photo-12mp-420.jpg"
STAGES = ("decode", "shrink", "count", "palette")


def stages_of(data: bytes, method: str) -> dict[str, float]:
    """Give the milliseconds of each stage of one run, and their sum as ``total``."""
    result: dict[str, Any] = handlers.run("histogram", {"image": data, "method": method})
    spent = {stage["name"]: float(stage["ms"]) for stage in result["stages"]}
    return spent | {"total": sum(spent.values())}


def peers_of(data: bytes) -> dict[str, Callable[[], object]]:
    """Give other ways to a part of the same numbers, by what they are."""
    small = Image.open(io.BytesIO(data)).convert("RGB").reduce(4)
    pixels = np.asarray(small).reshape(-1, 3)
    edges = [np.arange(0, 257, 16)] * 3

    def thumbnail() -> object:
        image = Image.open(io.BytesIO(data))
        image.thumbnail((1024, 1024), Image.Resampling.BOX)
        return image.convert("RGB")

    return {
        "decode + shrink: Image.thumbnail, with the decoder's scaling": thumbnail,
        "count: numpy.histogramdd, the cube only": lambda: np.histogramdd(pixels, bins=edges),
        "count: numpy.unique of whole colours": lambda: np.unique(
            pixels.astype(np.uint32) @ np.array([65536, 256, 1], np.uint32), return_counts=True
        ),
        "palette: Image.quantize, median cut over the pixels": lambda: small.quantize(8),
    }


def measure(data: bytes, rounds: int) -> dict[str, dict[str, list[float]]]:
    """Run every way ``rounds`` times by turns and give the milliseconds of each run."""
    peers = peers_of(data)
    ours: dict[str, dict[str, list[float]]] = {"vectorised": {}, "loop": {}, "peers": {}}
    for _ in range(rounds):
        for method in ("vectorised", "loop"):
            for stage, spent in stages_of(data, method).items():
                ours[method].setdefault(stage, []).append(spent)
        for name, peer in peers.items():
            start = time.perf_counter()
            peer()
            ours["peers"].setdefault(name, []).append((time.perf_counter() - start) * 1000)
    return ours


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="What the histogram costs in CPython.")
    parser.add_argument("file", type=Path, nargs="?", help="a picture; else the corpus' 12 MP JPEG")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true", help="print the medians as JSON")
    given = parser.parse_args()
    data = (given.file or big(PHOTO)).read_bytes()
    stages_of(data, "vectorised")  # imports, page cache
    measured = measure(data, given.rounds)
    medians = {
        way: {name: statistics.median(spent) for name, spent in runs.items()}
        for way, runs in measured.items()
    }
    if given.json:
        print(json.dumps({"rounds": given.rounds, "ms": medians}, indent=2))
        return 0
    print(f"{'stage':<60} {'vectorised':>11} {'loop':>11}   ms, medians of {given.rounds}")
    for stage in (*STAGES, "total"):
        fast, slow = medians["vectorised"][stage], medians["loop"][stage]
        print(f"{stage:<60} {fast:>11.1f} {slow:>11.1f}")
    pairs = zip(measured["loop"]["count"], measured["vectorised"]["count"], strict=True)
    print(f"count, loop over vectorised: {statistics.median(a / b for a, b in pairs):.1f}\n")
    for name, spent in medians["peers"].items():
        print(f"{name:<60} {spent:>11.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
