"""What the outbox raises."""


class OutboxError(Exception):
    """Anything that the outbox raises by itself."""


class ConfigurationError(OutboxError):
    """A configuration under which the outbox would not keep its promises."""


class MigrationError(OutboxError):
    """The schema in the database and the migrations here do not fit together."""


class Refused(OutboxError):  # noqa: N818 - an answer of the receiver, not a fault of ours
    """Raised by a channel: the receiver refused for good, and trying again cannot help."""


class SettleAbandonedError(OutboxError):
    """Outcomes could not be written before the worker had to end. Their leases run out."""
