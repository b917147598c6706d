"""The one way in which a step says that it can't go on."""

from __future__ import annotations


class StepError(Exception):
    """A step can't go on.

    `cause` is one line that a person understands, `remedy` says what that person can do.
    """

    def __init__(self, cause: str, remedy: str) -> None:
        super().__init__(cause)
        self.cause = cause
        self.remedy = remedy
