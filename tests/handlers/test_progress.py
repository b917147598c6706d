"""A running task says how far it is."""

import asyncio
import contextlib
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handlers import report_progress
from handlers.progress import reporting_to


@settings(deadline=None, database=None)
@given(st.floats())
def test_a_fraction_is_reported_or_refused(value: float) -> None:
    """Nothing is clamped: what is no fraction is a mistake of the task."""
    heard: list[float] = []
    with reporting_to(heard.append):
        if 0 <= value <= 1:
            report_progress(value)
        else:
            with pytest.raises(ValueError, match="from 0 to 1"):
                report_progress(value)
    assert heard == ([value] if 0 <= value <= 1 else [])


def test_nobody_needs_to_listen() -> None:
    """A task does not know whether anybody does; a mistake is one all the same."""
    report_progress(0.5)
    with reporting_to(None):
        report_progress(1)
        with pytest.raises(ValueError, match="nan"):
            report_progress(math.nan)


def test_a_task_within_a_task_reports_to_its_own_caller() -> None:
    """The outer one's listener hears the outer one only, also after the inner one has failed."""
    outer: list[float] = []
    inner: list[float] = []
    with reporting_to(outer.append):
        report_progress(0.1)
        with contextlib.suppress(RuntimeError), reporting_to(inner.append):
            report_progress(0.2)
            raise RuntimeError
        with reporting_to(None):
            report_progress(0.3)
        report_progress(0.4)
    assert (outer, inner) == ([0.1, 0.4], [0.2])


def test_async_tasks_side_by_side_report_to_their_own_callers() -> None:
    """Each has its listener, whenever it is its turn."""
    heard: dict[int, list[float]] = {1: [], 2: []}

    async def work(number: int) -> None:
        with reporting_to(heard[number].append):
            for step in range(3):
                report_progress(step / number / 2)
                await asyncio.sleep(0)

    async def both() -> None:
        await asyncio.gather(work(1), work(2))

    asyncio.run(both())
    assert heard == {1: [0, 0.5, 1], 2: [0, 0.25, 0.5]}
