"""What can go wrong with the queue, each with what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST_S = 10 * 366 * 86_400.0
"""The longest span that anything here is put off for."""


class QueueError(Exception):
    """Any of the errors below."""


class InvalidJobError(QueueError, ValueError):
    """A job that cannot be taken as it is: `field` names what must change."""

    def __init__(self, field: str, fault: str) -> None:
        super().__init__(f"{field}: {fault}")
        self.field = field


class QueueFullError(QueueError):
    """So many jobs wait that nothing was taken. Try again later, or raise the limit."""

    def __init__(self, waiting: int, limit: int) -> None:
        super().__init__(f"{waiting} jobs wait already, and at most {limit} may")
        self.waiting = waiting
        self.limit = limit


class OutOfMemoryError(QueueError):
    """The server has no memory left and took nothing. Workers go on, which frees some."""

    def __init__(self) -> None:
        super().__init__("the server's memory is full (maxmemory), so it took no job")


class NotConfirmedError(QueueError):
    """The jobs of `ids` were taken, but too few replicas said in time that they have them.

    A failover now may lose them. What came before them in the same call is confirmed, what came
    after them was not sent. Enqueueing all of it again with the same ids is safe.
    """

    def __init__(self, ids: Sequence[str], confirmed: int, wanted: int) -> None:
        super().__init__(f"{confirmed} of {wanted} replicas have confirmed {len(ids)} job(s)")
        self.ids = list(ids)
        self.confirmed = confirmed
        self.wanted = wanted


class TooManyRepeatsError(QueueError):
    """The queue has as many repeating series as it may. Remove one."""

    def __init__(self, there: int, limit: int) -> None:
        super().__init__(f"there are {there} repeating series, and at most {limit} may be")
        self.limit = limit


class LeaseLostError(QueueError):
    """The job belongs to another run by now; whatever this one does will not count."""


class InvalidCursorError(QueueError, ValueError):
    """No page of a list ended with this cursor."""

    def __init__(self, cursor: str) -> None:
        super().__init__(f"{cursor[:40]!r} is no cursor of this list")


class PermanentError(QueueError):
    """Raised by a handler: trying again cannot help, the job is dead at once."""


class Snooze(QueueError):  # noqa: N818 - not an error: a handler's word that it is too early
    """Raised by a handler: not now, again in `after_s` seconds, and no attempt is counted."""

    def __init__(self, after_s: float) -> None:
        if not 0 <= after_s <= LONGEST_S:
            raise ValueError(f"after_s is from 0 to ten years, not {after_s}")
        super().__init__(f"again in {after_s} s")
        self.after_s = after_s
