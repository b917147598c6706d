"""The short form of `python -m tests.redisq.chaos`; `make chaos` plays the long one."""

from __future__ import annotations

import asyncio

from tests.redisq.chaos.checker import check
from tests.redisq.chaos.run import Plan, run


def test_whatever_happens_every_job_ends_once() -> None:
    """Workers die and freeze, replies are lost, the server restarts, forgets and fills up."""
    plan = Plan(jobs=250, faults=5, seed=5)
    assert check(asyncio.run(run(plan))) == []


def test_without_the_fence_it_is_found_out() -> None:
    """A worker that comes back too late is believed, and the checker sees it."""
    plan = Plan(jobs=250, faults=2, seed=1, weak=True, kinds=("freeze",))
    assert any("had begun" in line for line in check(asyncio.run(run(plan))))
