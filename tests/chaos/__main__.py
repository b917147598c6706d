"""Kills, freezes and cuts what works on an outbox, and checks that it kept its promises."""

from __future__ import annotations

import argparse
import asyncio
import secrets
import sys
import time

from tests.chaos.checker import check
from tests.chaos.faults import KINDS
from tests.chaos.report import report
from tests.chaos.run import Plan, run


def main() -> int:
    """Returns 0 if every promise was kept, 1 if not."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--deliveries", type=int, default=10_000, help="at least so many")
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument(
        "--seed", type=int, default=None, help="of which faults, whom, in which order"
    )
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--producers", type=int, default=2)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument(
        "--weak-fence", action="store_true", help="settle by id and status only: must be found out"
    )
    given = parser.parse_args()
    seed = secrets.randbelow(2**31) if given.seed is None else given.seed
    sys.stdout.write(f"seed {seed}\n")
    sys.stdout.flush()
    began = time.monotonic()
    record = asyncio.run(
        run(
            Plan(
                given.deliveries,
                given.faults,
                seed,
                workers=given.workers,
                producers=given.producers,
                kinds=given.kinds,
                weak=given.weak_fence,
            )
        )
    )
    findings = check(record)
    sys.stdout.write(report(record, findings, seed, time.monotonic() - began))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
