"""Kills, freezes and cuts off workers and servers of the Redis queue, and checks its promises."""

from __future__ import annotations

import argparse
import asyncio
import secrets
import sys
import time
from typing import get_args

from tests.redisq.chaos.checker import check
from tests.redisq.chaos.plan import AIMED, KINDS, TO_WORKERS, Plan, Subject
from tests.redisq.chaos.report import report
from tests.redisq.chaos.run import run


def main() -> int:
    """Return 0 if every promise was kept, 1 if not."""
    parser = argparse.ArgumentParser(prog="python -m tests.redisq.chaos", description=__doc__)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--seed", type=int, default=None, help="which faults, whom, in which order")
    parser.add_argument("--subject", choices=get_args(Subject), default="queue",
                        help="a weakened one must be found out: the queue without its fence, or a"
                             " step of examples/redis-steps")  # fmt: skip
    parser.add_argument("--kinds", nargs="+", choices=(*KINDS, *AIMED),
                        help="all, but for a step those that spare the server")  # fmt: skip
    given = parser.parse_args()
    seed = secrets.randbelow(2**31) if given.seed is None else given.seed
    began = time.monotonic()
    kinds = given.kinds or (TO_WORKERS if given.subject.startswith("step") else KINDS)
    plan = Plan(given.jobs, given.faults, seed, subject=given.subject, kinds=tuple(kinds))
    seen = asyncio.run(run(plan))
    found = check(seen)
    sys.stdout.write(report(plan, seen, found, time.monotonic() - began))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
