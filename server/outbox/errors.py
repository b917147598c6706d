"""What the outbox raises."""


class OutboxError(Exception):
    """Anything that the outbox raises by itself."""


class ConfigurationError(OutboxError):
    """A configuration under which the outbox would not keep its promises."""


class MigrationError(OutboxError):
    """The schema in the database and the migrations here do not fit together."""


class Refused(OutboxError):  # noqa: N818 - an answer of the receiver, not a fault of ours
    """Raised by a channel: the receiver refused for good, and trying again cannot help.

    `code` is a short word for the kind of refusal, kept in the attempt log beside the reason.
    """

    def __init__(self, reason: str, *, code: str = "refused") -> None:
        super().__init__(reason)
        self.code = code


class RetryLater(OutboxError):  # noqa: N818 - an answer of the receiver, not a fault of ours
    """Raised by a channel: the attempt failed, and the receiver asks for a pause.

    The next attempt comes `after_s` seconds from now at the earliest, and never before the
    policy's own pause has passed; the policy bounds how long a receiver may ask for. It says
    nothing against the channel, so the breaker does not count it.
    """

    def __init__(self, reason: str, *, after_s: float) -> None:
        super().__init__(reason)
        self.after_s = after_s


class ChannelDown(OutboxError):  # noqa: N818 - a state of the receiver, not a fault of ours
    """Raised by a channel: the channel itself cannot be reached or used, whatever the delivery.

    The attempt failed and is tried again, and the breaker counts it.
    """


class SettleAbandonedError(OutboxError):
    """Outcomes could not be written before the worker had to end. Their leases run out."""
