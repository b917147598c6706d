"""A reliable outbox on PostgreSQL. Needs psycopg and the standard library, nothing else.

Guarantees: two workers never hold one delivery at the same time; a write by a worker that has
lost its delivery changes nothing; a delivery never gets lost, and one that cannot be sent ends as
`failed` or `dead`. Delivery is at least once.
"""

from .channels import Channel
from .connect import Connect
from .drain import drain
from .enqueue import enqueue, enqueue_sync
from .errors import (
    ChannelDown,
    ConfigurationError,
    MigrationError,
    OutboxError,
    Refused,
    RetryLater,
    SettleAbandonedError,
)
from .migrate import migrate
from .model import (
    Delivery,
    Depth,
    DrainReport,
    NewDelivery,
    Settled,
    Settlement,
    Status,
    Tally,
    Verdict,
)
from .policy import ChannelPolicy, Policy
from .presence import new_holder
from .queue import claim, depth, extend, reap, recount, release, settle
from .turn import Turn
from .validation import InvalidDeliveryError, PayloadTooLargeError
from .worker import Worker, listen

__all__ = [
    "Channel",
    "ChannelDown",
    "ChannelPolicy",
    "ConfigurationError",
    "Connect",
    "Delivery",
    "Depth",
    "DrainReport",
    "InvalidDeliveryError",
    "MigrationError",
    "NewDelivery",
    "OutboxError",
    "PayloadTooLargeError",
    "Policy",
    "Refused",
    "RetryLater",
    "SettleAbandonedError",
    "Settled",
    "Settlement",
    "Status",
    "Tally",
    "Turn",
    "Verdict",
    "Worker",
    "claim",
    "depth",
    "drain",
    "enqueue",
    "enqueue_sync",
    "extend",
    "listen",
    "migrate",
    "new_holder",
    "reap",
    "recount",
    "release",
    "settle",
]
