"""What the jobs raise."""

from __future__ import annotations


class JobError(Exception):
    """Anything that the jobs raise by themselves."""


class InvalidTriggerError(JobError):
    """A cron line, a time zone or an interval that cannot be used."""


class UnknownJobError(JobError):
    """There is no job of this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no job {name!r}")


class BusyError(JobError):
    """The job runs already; `run` is the number of that run, None if it has just ended."""

    def __init__(self, name: str, run: int | None) -> None:
        which = "" if run is None else f", as run {run}"
        super().__init__(f"{name} runs already{which}")
        self.run = run


class JobFailedError(JobError):
    """Raised by a job: it did what it does, and what it found is a failure."""


class LeaseLostError(JobError):
    """The run is not this process's any more: nothing may be written in its name."""
