"""A reliable outbox on PostgreSQL. Needs psycopg and the standard library, nothing else.

Guarantees: two workers never hold one delivery at the same time; a write by a worker that has
lost its delivery changes nothing; a delivery never gets lost, and one that cannot be sent ends as
`failed` or `dead`. Delivery is at least once.
"""

from .changes import (
    CHANGES,
    Change,
    ChangePage,
    Held,
    Kind,
    QueueNow,
    cursor_now,
    purge_changes,
    queue_now,
    read_changes,
    record_changes,
)
from .channels import Channel
from .connect import Connect
from .counters import Counter, add_counts, read_counts
from .cursor import Cursor, Snapshot, UnreadableCursorError
from .depth_check import depth_differences, mend_depth
from .drain import drain
from .ears import listen
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
from .history import Sample, depth_history, sample_depth
from .housekeeping import housekeeping
from .keeper import keeping_leases
from .migrate import Phase, migrate
from .model import (
    ChannelWaiting,
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
from .operations import (
    cancel,
    list_channels,
    list_deliveries,
    pause_channel,
    resume_channel,
    retry,
    retry_matching,
    show_delivery,
)
from .policy import ChannelPolicy, Policy
from .presence import new_holder
from .queue import channels_waiting, claim, depth, extend, reap, recount, release, settle
from .retention import Purged, Retention, purge
from .stored import (
    Attempt,
    ChannelState,
    DeliveryPage,
    InvalidCursorError,
    ShownDelivery,
    StoredDelivery,
)
from .table_health import TableHealth, oldest_transaction_s, table_health
from .timing import told_of_statements
from .turn import Turn
from .validation import Check, Fault, InvalidDeliveryError, PayloadTooLargeError
from .worker import Worker

__all__ = [
    "CHANGES",
    "Attempt",
    "Change",
    "ChangePage",
    "Channel",
    "ChannelDown",
    "ChannelPolicy",
    "ChannelState",
    "ChannelWaiting",
    "Check",
    "ConfigurationError",
    "Connect",
    "Counter",
    "Cursor",
    "Delivery",
    "DeliveryPage",
    "Depth",
    "DrainReport",
    "Fault",
    "Held",
    "InvalidCursorError",
    "InvalidDeliveryError",
    "Kind",
    "MigrationError",
    "NewDelivery",
    "OutboxError",
    "PayloadTooLargeError",
    "Phase",
    "Policy",
    "Purged",
    "QueueNow",
    "Refused",
    "Retention",
    "RetryLater",
    "Sample",
    "SettleAbandonedError",
    "Settled",
    "Settlement",
    "ShownDelivery",
    "Snapshot",
    "Status",
    "StoredDelivery",
    "TableHealth",
    "Tally",
    "Turn",
    "UnreadableCursorError",
    "Verdict",
    "Worker",
    "add_counts",
    "cancel",
    "channels_waiting",
    "claim",
    "cursor_now",
    "depth",
    "depth_differences",
    "depth_history",
    "drain",
    "enqueue",
    "enqueue_sync",
    "extend",
    "housekeeping",
    "keeping_leases",
    "list_channels",
    "list_deliveries",
    "listen",
    "mend_depth",
    "migrate",
    "new_holder",
    "oldest_transaction_s",
    "pause_channel",
    "purge",
    "purge_changes",
    "queue_now",
    "read_changes",
    "read_counts",
    "reap",
    "record_changes",
    "recount",
    "release",
    "resume_channel",
    "retry",
    "retry_matching",
    "sample_depth",
    "settle",
    "show_delivery",
    "table_health",
    "told_of_statements",
]
