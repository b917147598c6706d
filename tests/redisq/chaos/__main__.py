"""Kills, freezes and cuts off workers of the Redis queue, and checks that it kept its promises."""

from __future__ import annotations

import argparse
import asyncio
import secrets
import sys
from collections import Counter

from tests.redisq.chaos.checker import check
from tests.redisq.chaos.run import KINDS, Plan, run


def main() -> int:
    """Return 0 if every promise was kept, 1 if not."""
    parser = argparse.ArgumentParser(prog="python -m tests.redisq.chaos", description=__doc__)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--seed", type=int, default=None, help="which faults, whom, in which order")
    parser.add_argument("--weak-fence", action="store_true", help="settle by id: must be found out")
    parser.add_argument("--kinds", nargs="+", choices=sorted(set(KINDS)), default=KINDS)
    given = parser.parse_args()
    seed = secrets.randbelow(2**31) if given.seed is None else given.seed
    seen = asyncio.run(
        run(Plan(given.jobs, given.faults, seed, weak=given.weak_fence, kinds=tuple(given.kinds)))
    )
    found = check(seen)
    words = Counter(f"{note['what']} {note.get('verdict', '')}".strip() for note in seen.notes)
    states = Counter(job.state for job in seen.jobs.values())
    lost = sum(job.lost for job in seen.jobs.values())
    sys.stdout.write(
        f"seed {seed}: {len(seen.confirmed)} jobs, {dict(states)}, {lost} losses, {dict(words)}\n"
        f"faults: {seen.faults}\n" + "".join(f"BROKEN: {line}\n" for line in found[:40])
    )
    sys.stdout.write(f"{len(found)} broken promises\n" if found else "every promise was kept\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
