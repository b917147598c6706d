"""A reliable job queue on Redis or Valkey. It needs redis-py, and nothing else of this project."""

from .audit import audit
from .backoff import Backoff
from .codec import Codec, JsonCodec
from .errors import (
    InvalidJobError,
    LeaseLostError,
    NotConfirmedError,
    OutOfMemoryError,
    PermanentError,
    QueueError,
    QueueFullError,
    Snooze,
)
from .model import Depth, Job
from .new_job import NewJob
from .options import WorkerOptions
from .queue import Queue
from .running import FromThread, RunningJob
from .tasks import Tasks
from .worker import Worker

__all__ = [
    "Backoff",
    "Codec",
    "Depth",
    "FromThread",
    "InvalidJobError",
    "Job",
    "JsonCodec",
    "LeaseLostError",
    "NewJob",
    "NotConfirmedError",
    "OutOfMemoryError",
    "PermanentError",
    "Queue",
    "QueueError",
    "QueueFullError",
    "RunningJob",
    "Snooze",
    "Tasks",
    "Worker",
    "WorkerOptions",
    "audit",
]
