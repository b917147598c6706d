"""The short form of `python -m tests.redisq.chaos`; `make chaos` plays the long one."""

from __future__ import annotations

import asyncio

import pytest

from tests.redisq.chaos.checker import check
from tests.redisq.chaos.plan import KINDS, Plan, Subject
from tests.redisq.chaos.run import run


def test_whatever_happens_every_job_ends_once() -> None:
    """Everything is done to it once, in an order by chance."""
    kinds = tuple(kind for kind in KINDS if kind != "promote")
    assert check(asyncio.run(run(Plan(jobs=250, faults=len(kinds), seed=5, kinds=kinds)))) == []


def test_a_replica_takes_over_with_all_that_it_confirmed() -> None:
    """What it was not waited for is lost with the server that had it alone: that is seen, too."""
    seen = asyncio.run(run(Plan(jobs=200, faults=1, seed=1, kinds=("promote",), workers=2)))
    assert check(seen) == []
    lost = seen.forgotten()
    assert lost
    assert not any(seen.confirmed[id_].safe for id_ in lost)
    assert seen.unconfirmed


WEAK: dict[Subject, tuple[Plan, str]] = {
    "weak-fence": (
        Plan(jobs=30, faults=1, seed=1, subject="weak-fence", kinds=("freeze_busy",), workers=2),
        "had begun",
    ),
    "step1": (
        Plan(jobs=3, faults=1, seed=1, subject="step1", kinds=("kill_busy",), workers=1),
        "was confirmed and is gone",
    ),
    "step2": (
        Plan(jobs=40, faults=1, seed=1, subject="step2", kinds=("lose_claims",), workers=1),
        "ended as stranded",
    ),
    "step3": (
        Plan(jobs=3, faults=1, seed=1, subject="step3", kinds=("kill_failed",), workers=1),
        "was confirmed and is gone",
    ),
}


@pytest.mark.parametrize("subject", list(WEAK))
def test_what_is_weaker_is_found_out(subject: Subject) -> None:
    """The queue that believes whoever comes late, and each step on the way to it."""
    plan, word = WEAK[subject]
    assert any(word in line for line in check(asyncio.run(run(plan))))
