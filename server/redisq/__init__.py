"""A reliable job queue on Redis or Valkey. It needs redis-py, and nothing else of this project."""

from .audit import audit
from .backoff import Backoff
from .codec import Codec, JsonCodec
from .errors import (
    InvalidCursorError,
    InvalidJobError,
    LeaseLostError,
    NotConfirmedError,
    OutOfMemoryError,
    PermanentError,
    QueueError,
    QueueFullError,
    Snooze,
    TooManyRepeatsError,
)
from .figures import Minute, Recent, Spans
from .looking import Filter, jobs_page, look_at, row_of, stuck
from .mending import Step, bring_back, give_up, operate_matching
from .model import Depth, Job, Purged
from .names import queue_names
from .new_job import NewJob
from .options import WorkerOptions
from .queue import Queue
from .reasons import Mend, Reason, reason_of
from .repeats import Repeat
from .running import FromThread, RunningJob
from .seen import JobPage, Limits, Look, Row, SeenWorker
from .tasks import Tasks
from .worker import Worker

__all__ = [
    "Backoff",
    "Codec",
    "Depth",
    "Filter",
    "FromThread",
    "InvalidCursorError",
    "InvalidJobError",
    "Job",
    "JobPage",
    "JsonCodec",
    "LeaseLostError",
    "Limits",
    "Look",
    "Mend",
    "Minute",
    "NewJob",
    "NotConfirmedError",
    "OutOfMemoryError",
    "PermanentError",
    "Purged",
    "Queue",
    "QueueError",
    "QueueFullError",
    "Reason",
    "Recent",
    "Repeat",
    "Row",
    "RunningJob",
    "SeenWorker",
    "Snooze",
    "Spans",
    "Step",
    "Tasks",
    "TooManyRepeatsError",
    "Worker",
    "WorkerOptions",
    "audit",
    "bring_back",
    "give_up",
    "jobs_page",
    "look_at",
    "operate_matching",
    "queue_names",
    "reason_of",
    "row_of",
    "stuck",
]
