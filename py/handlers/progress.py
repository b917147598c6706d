"""How a running task says how far it is, without knowing who listens."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Receiver = Callable[[float], None]

_receiver: ContextVar[Receiver | None] = ContextVar("receiver", default=None)


def report_progress(fraction: float) -> None:
    """Tell whoever runs the task that ``fraction`` of it is done; without a listener, do nothing.

    Raises ValueError unless ``fraction`` is from 0 to 1.
    """
    if not 0 <= fraction <= 1:
        raise ValueError(f"Progress is a fraction from 0 to 1, not {fraction!r}.")
    receiver = _receiver.get()
    if receiver is not None:
        receiver(float(fraction))


@contextmanager
def reporting_to(receiver: Receiver | None) -> Iterator[None]:
    """Send what is reported inside to ``receiver`` alone; what is nested inside has its own."""
    token = _receiver.set(receiver)
    try:
        yield
    finally:
        _receiver.reset(token)
