"""What a job is, and which there are."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from server.jobs.errors import InvalidTriggerError, UnknownJobError
from server.jobs.running import Running
from server.jobs.schedule import ONCE, CatchUp, Trigger

Report: TypeAlias = Mapping[str, Any]
Act = Callable[[Running], Awaitable[Report]]

NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")


@dataclass(frozen=True)
class Job:
    """A name, what it does, and what wakes it.

    `act` returns a report that can be JSON. It ends early, in good order, when `stop` of what it
    is given is set; what has not ended `grace_s` seconds later is cancelled. That is how a run
    ends that is over its `timeout_s`, is cancelled, or has lost its lease.
    """

    name: str
    does: str
    act: Act
    triggers: tuple[Trigger, ...] = ()
    timeout_s: float = 300.0
    grace_s: float = 5.0
    catch_up: CatchUp = ONCE

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise InvalidTriggerError(f"{self.name!r} is no name for a job")
        if self.timeout_s <= 0:
            raise InvalidTriggerError(f"{self.name}: a time-out is longer than nothing")


class Registry:
    """The jobs by name."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._jobs = {job.name: job for job in jobs}

    def __iter__(self) -> Iterator[Job]:
        return iter(self._jobs.values())

    def __getitem__(self, name: str) -> Job:
        """The job of this name. Raises UnknownJobError."""
        try:
            return self._jobs[name]
        except KeyError:
            raise UnknownJobError(name) from None

    def __contains__(self, name: object) -> bool:
        return name in self._jobs

    @property
    def names(self) -> list[str]:
        """All names."""
        return list(self._jobs)
