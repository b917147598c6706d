"""The name under which a receiver knows a delivery, the same over all attempts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from server.outbox import Delivery

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def stable_id(delivery: Delivery) -> str:
    """The delivery's id and the microsecond of its creation, as `42-6417c2b1d0f40`.

    The id alone would name another delivery after a database has been made anew, and a receiver
    that drops duplicates would drop that one. No full stop is in it, which webhook signatures
    use as their separator.
    """
    microseconds = (delivery.created_at - _EPOCH) // timedelta(microseconds=1)
    return f"{delivery.id}-{microseconds:x}"
