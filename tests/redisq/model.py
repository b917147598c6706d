"""The queue as it should be: what each script must answer, and where jobs lie then.

Times are whole seconds on a clock that only the tests move.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from server.redisq.model import Kind, Outcome

BOOST_S = 60
LEASE_S = 25
LOST_PAUSE_S = 15
MOST_LOST = 3
SERIES = "tidy"
SERIES_KEY = f"repeat:{SERIES}"


@dataclass(slots=True)
class JobModel:
    """A job, and who holds it."""

    id: str
    priority: int
    max_attempts: int
    unique: str | None
    state: str
    due: int
    attempts: int = 0
    lost: int = 0
    token: int = 0
    worker: str | None = None
    lease: int = 0
    cancel: bool = False
    reason: str | None = None
    effects: set[str] = field(default_factory=set)

    def score(self) -> int:
        """The place among those that are ready: lower is sooner."""
        return self.due - self.priority * BOOST_S


@dataclass(slots=True)
class SeriesModel:
    """Jobs that come again and again, by an interval."""

    every: int
    max_attempts: int
    due: int
    occurred: int = 0
    skipped: int = 0


class QueueModel:
    """All jobs, and what is counted."""

    def __init__(self) -> None:
        self.now = 0
        self.jobs: dict[str, JobModel] = {}
        self.uniques: dict[str, str] = {}
        self.token = 0
        self.paused = False
        self.concurrency: int | None = None
        self.series: SeriesModel | None = None
        self.done = 0
        self.lost = 0

    def at(self, state: str) -> list[JobModel]:
        """The jobs that are there."""
        return [job for job in self.jobs.values() if job.state == state]

    def enqueue(self, job: JobModel) -> str:
        """Take it, and return the id of the one that stands for it."""
        if job.id in self.jobs:
            return job.id
        if job.unique and job.unique in self.uniques:
            return self.uniques[job.unique]
        self.jobs[job.id] = job
        if job.unique:
            self.uniques[job.unique] = job.id
        return job.id

    def end(self, job: JobModel, state: str, reason: str | None = None) -> None:
        """It is done or dead: its key is free."""
        job.state, job.reason = state, reason
        if job.unique and self.uniques.get(job.unique) == job.id:
            del self.uniques[job.unique]

    def wait(self, job: JobModel, delay: int) -> None:
        """It is due later."""
        job.state, job.due = "scheduled", self.now + delay

    def settle(self, outcome: Outcome) -> str:
        """Let an outcome count, if it may."""
        job = self.jobs.get(outcome.id)
        if not job or job.token != outcome.token:
            return "late"
        if job.state != "active" and (
            outcome.kind != "done" or job.state not in {"ready", "scheduled"}
        ):
            return "late"
        self._end_as(job, outcome.kind, outcome.delay_ms // 1000)
        return "ok"

    def _end_as(self, job: JobModel, kind: Kind, delay: int) -> None:
        if kind == "done":
            self.done += 1
            self.end(job, "done")
        elif kind == "dead":
            job.attempts += 1
            self.end(job, "dead", "refused")
        elif kind == "retry" and job.attempts + 1 >= job.max_attempts:
            job.attempts += 1
            self.end(job, "dead", "exhausted")
        else:
            job.attempts += kind == "retry"
            if kind == "cancelled" or job.cancel:
                self.end(job, "dead", "cancelled")
            elif kind == "release":
                job.state = "ready"
            else:
                self.wait(job, delay)

    def bring_back(self) -> list[JobModel]:
        """Take back what lies under leases that ran out, let in what is due; return the former."""
        gone = [job for job in self.at("active") if job.lease <= self.now]
        for job in gone:
            job.lost += 1
            self.lost += 1
            if job.cancel:
                self.end(job, "dead", "cancelled")
            elif job.lost >= MOST_LOST:
                self.end(job, "dead", "lost")
            else:
                self.wait(job, LOST_PAUSE_S)
        for job in self.at("scheduled"):
            if job.due <= self.now:
                job.state = "ready"
        return [job for job in gone if job.state == "scheduled"]

    def room(self, want: int) -> int:
        """How many jobs a worker gets that wants so many."""
        if self.paused:
            return 0
        free = want if self.concurrency is None else self.concurrency - len(self.at("active"))
        return max(0, min(want, free, len(self.at("ready"))))

    def claim(self, id_: str, token: int, worker: str) -> None:
        """Let a worker have it."""
        job = self.jobs[id_]
        assert job.state == "ready"
        assert token > self.token
        self.token = job.token = token
        job.state, job.worker, job.lease = "active", worker, self.now + LEASE_S

    def holds(self, id_: str, token: int) -> bool:
        """Whether that run still has the job."""
        job = self.jobs.get(id_)
        return job is not None and job.state == "active" and job.token == token

    def operate(self, what: str, id_: str) -> str:
        """Do what an operator wants, and return what is answered."""
        job = self.jobs.get(id_)
        if not job:
            return "missing"
        allowed = {
            "retry": {"done", "dead"},
            "promote": {"scheduled"},
            "cancel": {"ready", "scheduled", "active"},
            "delete": {"ready", "scheduled", "done", "dead"},
        }
        if job.state not in allowed[what]:
            return job.state
        if what == "cancel" and job.state == "active":
            job.cancel = True
            return "asked"
        if what == "cancel":
            self.end(job, "dead", "cancelled")
        elif what == "delete":
            self.end(job, "gone")
            del self.jobs[id_]
        else:
            return self._again(job)
        return "ok"

    def purge(self, state: str, reason: str | None) -> int:
        """Forget what is there for that reason, and return how many that were."""
        found = [job for job in self.at(state) if reason in {None, job.reason}]
        for job in found:
            self.end(job, "gone")
            del self.jobs[job.id]
        return len(found)

    def define(self, every: int, max_attempts: int) -> None:
        """Let there be a series, or change it: then what waits of it is due anew."""
        before = self.series
        if before and (before.every, before.max_attempts) == (every, max_attempts):
            return
        due = self.now if self._drop_waiting() else self.now + every
        self.series = SeriesModel(every, max_attempts, due)
        if before:
            self.series.occurred, self.series.skipped = before.occurred, before.skipped

    def undefine(self) -> bool:
        """End the series; tell whether there was one."""
        if self.series is None:
            return False
        self._drop_waiting()
        self.series = None
        return True

    def series_is_due(self) -> bool:
        """Whether the next turn lets it occur, or skips that."""
        return self.series is not None and self.series.due <= self.now

    def occur(self, id_: str) -> None:
        """It is due: there is a job of that id, unless one of the series waits or runs."""
        series = self.series
        assert series
        if SERIES_KEY in self.uniques or id_ in self.jobs:
            series.skipped += 1
        else:
            series.occurred += 1
            self.jobs[id_] = JobModel(id_, 0, series.max_attempts, SERIES_KEY, "ready", series.due)
            self.uniques[SERIES_KEY] = id_
        series.due += series.every * ((self.now - series.due) // series.every + 1)

    def _drop_waiting(self) -> bool:
        job = self.jobs.get(self.uniques.get(SERIES_KEY, ""))
        if job is None or job.state not in {"ready", "scheduled"}:
            return False
        self.end(job, "gone")
        del self.jobs[job.id]
        return True

    def _again(self, job: JobModel) -> str:
        if job.state != "scheduled":
            if job.unique and self.uniques.get(job.unique, job.id) != job.id:
                return "taken"
            if job.unique:
                self.uniques[job.unique] = job.id
            job.attempts = job.lost = 0
            job.cancel, job.reason = False, None
        job.state, job.due = "ready", self.now
        return "ok"
