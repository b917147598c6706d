"""Tasks that take their time, each in another way: waiting, in Python, in one call of C."""

import asyncio
import time
from typing import Annotated

import numpy as np

from handlers.progress import report_progress
from handlers.registry import task
from handlers.signature import Range

_SLICE_S = 0.1
_REPORTS = 100

Seconds = Annotated[float, Range(0, 86_400)]


@task("sleep")
async def sleep(*, seconds: Seconds) -> float:
    """Wait without keeping the thread busy, and give the seconds that it took.

    In slices, because a browser's timer outlives whoever it was meant for.
    """
    start = time.perf_counter()
    while (passed := time.perf_counter() - start) < seconds:
        report_progress(passed / seconds)
        await asyncio.sleep(min(_SLICE_S, seconds - passed))
    report_progress(1)
    return passed


@task("spin")
def spin(*, seconds: Seconds | None = None) -> int:
    """Keep the thread busy in a loop of Python, without ``seconds`` for ever; give its turns."""
    start = time.perf_counter()
    turns, reported = 0, -1
    while seconds is None or (passed := time.perf_counter() - start) < seconds:
        turns += 1
        part = 0 if seconds is None else int(passed / seconds * _REPORTS)
        if part > reported:
            report_progress(part / _REPORTS)
            reported = part
    report_progress(1)
    return turns


@task("grind")
def grind(*, size: Annotated[int, Range(1, 1_000_000)]) -> float:
    """Keep the thread busy in one call of NumPy, which nothing can interrupt, and give ``size``.

    The time grows with the square of ``size``, the memory with ``size``.
    """
    ones = np.ones(size)
    return float(np.convolve(ones, ones).max())
