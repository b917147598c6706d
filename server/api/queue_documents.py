"""The documents that tell of the queues on Redis. Spans in them are in seconds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Self

from pydantic import BaseModel, Field

from server.redisq import Job, JobPage, Look, Reason, Row, Spans
from server.redisq.model import State
from server.redisq.reasons import MENDS, Mend


def moment(ms: int | None) -> datetime | None:
    """The instant that so many milliseconds since 1970 are."""
    return None if ms is None else datetime.fromtimestamp(ms / 1000, UTC)


def sure_moment(ms: int) -> datetime:
    """The same where there is one."""
    return datetime.fromtimestamp(ms / 1000, UTC)


class QueueSpans(BaseModel):
    """How long something took; right to within a factor of two."""

    count: int = Field(ge=0)
    p50_s: float | None = Field(ge=0)
    p95_s: float | None = Field(ge=0)

    @classmethod
    def of(cls, spans: Spans) -> Self:
        """The document for these."""
        half, most = spans.p50_ms, spans.p95_ms
        return cls(
            count=spans.count,
            p50_s=None if half is None else half / 1000,
            p95_s=None if most is None else most / 1000,
        )


class QueueMinute(BaseModel):
    """What ended in one minute."""

    at: datetime = Field(description="when the minute began")
    done: int = Field(ge=0)
    failed: int = Field(ge=0)


class QueueRecent(BaseModel):
    """What happened in the last quarter of an hour."""

    window_s: float
    claimed: int
    done: int
    failed: int = Field(description="attempts that failed")
    dead: int
    lost: int = Field(description="workers that vanished with a job")
    late: int = Field(description="outcomes that came too late and were refused")
    done_per_minute: float
    failed_share: float | None = Field(ge=0, le=1, description="of all attempts that ended")
    waits: QueueSpans = Field(description="from due to claimed")
    runs: QueueSpans = Field(description="from claimed to done")
    minutes: Sequence[QueueMinute] = Field(description="oldest first")


class QueueLimits(BaseModel):
    """What the queue allows; null: everything."""

    concurrency: int | None
    rate_count: int | None = Field(description="jobs that may start in `rate_s`")
    rate_s: float | None
    rate_wait_s: float = Field(description="until the rate lets the next job start")


class QueueFigures(BaseModel):
    """A queue at one instant."""

    name: str
    as_of: datetime = Field(description="the instant, by the server's clock")
    paused: bool
    ready: int = Field(ge=0)
    scheduled: int = Field(ge=0)
    active: int = Field(ge=0)
    done: int = Field(ge=0)
    dead: int = Field(ge=0)
    oldest_waiting_s: float | None = Field(
        ge=0, description="for how long the job at the head of the line has been due"
    )
    next_due_at: datetime | None = Field(description="when the next scheduled job falls due")
    overdue_leases: int = Field(ge=0)
    live_workers: int = Field(ge=0)
    limits: QueueLimits
    recent: QueueRecent

    @classmethod
    def of(cls, look: Look) -> QueueFigures:
        """The document for a look at it."""
        limits, recent = look.limits, look.recent
        return cls(
            name=look.name,
            as_of=sure_moment(look.now_ms),
            paused=look.paused,
            ready=look.counts["ready"],
            scheduled=look.counts["scheduled"],
            active=look.counts["active"],
            done=look.counts["done"],
            dead=look.counts["dead"],
            oldest_waiting_s=None if look.oldest_ms is None else look.oldest_ms / 1000,
            next_due_at=moment(look.next_due_ms),
            overdue_leases=look.overdue_leases,
            live_workers=len(look.live),
            limits=QueueLimits(
                concurrency=limits.concurrency,
                rate_count=limits.rate_count,
                rate_s=None if limits.rate_ms is None else limits.rate_ms / 1000,
                rate_wait_s=limits.rate_wait_ms / 1000,
            ),
            recent=QueueRecent(
                window_s=recent.window_s,
                claimed=recent.claimed,
                done=recent.done,
                failed=recent.failed,
                dead=recent.dead,
                lost=recent.lost,
                late=recent.late,
                done_per_minute=recent.done_per_minute,
                failed_share=recent.failed_share,
                waits=QueueSpans.of(recent.waits),
                runs=QueueSpans.of(recent.runs),
                minutes=[
                    QueueMinute(at=sure_moment(one.at_ms), done=one.done, failed=one.failed)
                    for one in recent.minutes
                ],
            ),
        )


class Queues(BaseModel):
    """Every queue, by name."""

    queues: Sequence[QueueFigures]


class QueueJob(BaseModel):
    """A job without what it carries."""

    id: str
    state: State
    task: str
    priority: int
    attempts: int = Field(description="failures so far")
    max_attempts: int
    lost: int = Field(description="workers that vanished with it")
    queued_at: datetime
    due_at: datetime
    claimed_at: datetime | None
    ended_at: datetime | None
    lease_expires_at: datetime | None
    worker: str | None
    progress: float | None
    error: str | None
    reason: str | None = Field(description="why it is dead")

    @classmethod
    def of(cls, row: Row | Job) -> QueueJob:
        """The document for a job."""
        return cls(
            id=row.id,
            state=row.state,
            task=row.task,
            priority=row.priority,
            attempts=row.attempts,
            max_attempts=row.max_attempts,
            lost=row.lost,
            queued_at=sure_moment(row.queued_ms),
            due_at=sure_moment(row.due_ms),
            claimed_at=moment(row.claimed_ms),
            ended_at=moment(row.ended_ms),
            lease_expires_at=moment(row.lease_ms),
            worker=row.worker,
            progress=row.progress,
            error=row.error,
            reason=row.reason,
        )


class QueueJobs(BaseModel):
    """Some jobs of one state; `cursor` leads on and is null at the end."""

    jobs: Sequence[QueueJob]
    cursor: str | None
    looked: int = Field(ge=0, description="jobs that a filter went through for this page")

    @classmethod
    def of(cls, page: JobPage) -> QueueJobs:
        """The document for a page."""
        return cls(
            jobs=[QueueJob.of(row) for row in page.rows], cursor=page.cursor, looked=page.looked
        )


class JobNote(BaseModel):
    """Something that was not the usual course."""

    at: datetime
    what: str = Field(
        description="failed, lost, released, unheard, late, dead, retry, promote, cancel"
    )
    detail: str


class ShownJob(BaseModel):
    """A job, why it is where it is, what it carries, and what has become of it."""

    job: QueueJob
    why: Reason
    mend: Mend | None = Field(description="what would move it")
    payload: Any
    result: Any
    unique: str | None
    token: int = Field(description="of its last claim")
    log: Sequence[JobNote] = Field(description="the last 20, oldest first")

    @classmethod
    def of(cls, job: Job, why: Reason) -> ShownJob:
        """The document for a job."""
        return cls(
            job=QueueJob.of(job),
            why=why,
            mend=MENDS[why],
            payload=job.payload,
            result=job.result,
            unique=job.unique,
            token=job.token,
            log=[
                JobNote(at=sure_moment(at), what=what, detail=detail)
                for at, what, detail in job.log
            ],
        )


class StuckJob(BaseModel):
    """A job that does not move, and why."""

    job: QueueJob
    why: Reason
    mend: Mend | None


class StuckJobs(BaseModel):
    """Those that do not move among the first 20 of each place."""

    jobs: Sequence[StuckJob]


class QueueStep(BaseModel):
    """What one step over a list of jobs has done."""

    looked: int = Field(ge=0, description="jobs that it went through, 500 at most")
    matched: int = Field(ge=0, description="jobs that were meant, 100 at most")
    moved: int = Field(ge=0, description="jobs that allowed it")
    cursor: str | None = Field(description="where the next step begins; null: that was all")
