"""What a queue must offer so that this project's jobs run on it: as much as they use, and no more.

A job that is put in is a redisq.NewJob, and what speaks against it is one of redisq's errors,
whichever engine it is. That its server is away is EngineAwayError.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from server.redisq import NewJob, QueueError
from server.redisq.model import State

Ended = Literal["done", "dead"]


class EngineAwayError(QueueError):
    """The server of the queue does not answer. What was sent may have been taken all the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    """A job as it is now. Times are in ms since 1970, of the queue's server where it has any."""

    id: str
    task: str
    state: State
    payload: Any
    attempts: int
    """Failures so far."""
    max_attempts: int
    progress: float | None
    result: Any
    error: str | None
    """How the last run failed, if one did."""
    reason: str | None
    """Why it is dead: exhausted, refused, lost, no-handler, cancelled."""
    queued_ms: int
    claimed_ms: int | None
    ended_ms: int | None


class TaskJob(Protocol):
    """What a task has of its job, in a thread; a coroutine has the same and awaits `progress`."""

    @property
    def id(self) -> str:
        """The same in every run."""

    @property
    def attempt(self) -> int:
        """Counts the runs, from 1."""

    @property
    def payload(self) -> Any:
        """What was enqueued."""

    def progress(self, share: float) -> Any:
        """Lets others see how far it is, from 0 to 1."""


class Engine(Protocol):
    """One queue. Its methods raise EngineAwayError where the server does not answer."""

    async def enqueue(self, job: NewJob) -> str:
        """Takes a job and returns its id; one of that id that is there already is left as it is.

        Raises InvalidJobError, QueueFullError, OutOfMemoryError.
        """

    async def get(self, id_: str) -> JobView | None:
        """The job as it is now; None if there is none of that id."""

    async def depth(self) -> Mapping[State, int]:
        """How many jobs there are in each state."""

    async def ended(self, state: Ended, count: int) -> list[JobView]:
        """The jobs that ended last, the latest first."""

    async def retry(self, id_: str) -> bool:
        """Lets a dead job run again, with all its attempts; False if it is not dead."""


class EngineWorker(Protocol):
    """Claims jobs and runs them."""

    @property
    def id(self) -> str:
        """Names it in logs."""

    @property
    def counts(self) -> Mapping[str, int]:
        """What it has done so far, by words such as `done` and `failed`."""

    async def run(self) -> None:
        """Works until `stop`, and returns when everything is settled or given back."""

    def stop(self) -> None:
        """Claims nothing more and lets run what runs; called again, it ends that as well."""
