"""The document that says how deep the queue is; the API and the command line show the same one."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from server.outbox import Depth


class Workers(BaseModel):
    """The queue workers that run."""

    live: int = Field(ge=0, description="workers that have been heard of lately")


class Pending(BaseModel):
    """What waits. `due`, `scheduled` and `retrying` make up `total`."""

    total: int = Field(ge=0)
    due: int = Field(ge=0, description="may be claimed now")
    scheduled: int = Field(ge=0, description="waits for its first attempt")
    retrying: int = Field(ge=0, description="waits for another attempt")


class QueueDepth(BaseModel):
    """How many deliveries there are in each state, exact at one instant."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "as_of": "2026-05-04T12:00:00Z",
                    "mode": "running",
                    "workers": {"live": 1},
                    "pending": {"total": 12, "due": 7, "scheduled": 3, "retrying": 2},
                    "processing": 25,
                    "sent": 963,
                    "failed": 0,
                    "dead": 0,
                    "oldest_due_age_s": 0.8,
                }
            ]
        }
    )

    as_of: datetime = Field(description="the instant, by the database's clock")
    mode: Literal["running", "dormant"] = Field(description="whether any worker is live")
    workers: Workers
    pending: Pending
    processing: int = Field(ge=0, description="held by a worker under a lease")
    sent: int = Field(ge=0)
    failed: int = Field(ge=0, description="refused for good by the receiver")
    dead: int = Field(ge=0, description="attempts used up")
    oldest_due_age_s: float | None = Field(
        ge=0, description="for how long the oldest due delivery has been due, in seconds"
    )

    @classmethod
    def of(cls, depth: Depth) -> QueueDepth:
        """The document for a depth."""
        return cls(
            as_of=depth.as_of,
            mode="running" if depth.live_workers else "dormant",
            workers=Workers(live=depth.live_workers),
            pending=Pending(
                total=depth.pending,
                due=depth.due,
                scheduled=depth.scheduled,
                retrying=depth.retrying,
            ),
            processing=depth.processing,
            sent=depth.sent,
            failed=depth.failed,
            dead=depth.dead,
            oldest_due_age_s=depth.oldest_due_age_s,
        )
