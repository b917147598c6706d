"""A task that takes memory."""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from handlers.registry import task
from handlers.signature import Range

MEGABYTE = 1 << 20

kept: list[NDArray[np.uint8]] = []


@task("allocate")
def allocate(*, megabytes: Annotated[int, Range(0, 1024)], keep: bool = False) -> NDArray[np.uint8]:
    """Give an array of so many megabytes, each byte 1.

    With ``keep`` it is also left behind in Python, as a task with a leak does. Raises MemoryError.
    """
    array = np.ones(megabytes * MEGABYTE, np.uint8)
    if keep:
        kept.append(array)
    return array
