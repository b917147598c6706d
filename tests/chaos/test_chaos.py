"""A short chaos run at each test run; `make chaos` is the long one."""

from __future__ import annotations

import pytest

from tests.chaos.checker import check
from tests.chaos.faults import KINDS
from tests.chaos.report import report
from tests.chaos.run import Plan, run

pytestmark = pytest.mark.timeout(400)


async def test_every_kind_of_fault_once() -> None:
    """Nothing is lost, held twice, written late or sent more often than the faults explain."""
    record = await run(Plan(deliveries=300, faults=len(KINDS), seed=4))
    findings = check(record)
    assert not findings, report(record, findings, 4, 0)
    assert {fault.kind for fault in record.faults} >= KINDS.keys()
    assert len(record.rows) >= 300
    assert record.verdicts["lost"], "no lease was lost: the faults did not hit anything"


async def test_a_weak_fence_is_found_out() -> None:
    """Outcomes by id and status only: what a slow network brings late ends another's attempt."""
    record = await run(Plan(deliveries=60, faults=1, seed=4, kinds=["hold-back"], weak=True))
    assert any(fault.hit for fault in record.faults if fault.kind == "hold-back")
    found = check(record)
    assert any("held attempt" in text or "late 'sent'" in text for text in found), found
