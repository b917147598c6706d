"""What a delivery must be like before it may be enqueued. Pure; every refusal names the field."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .errors import OutboxError
from .model import NewDelivery
from .policy import LONGEST_S

NAME_LENGTH = 200
RECIPIENT_LENGTH = 1000
KEY_LENGTH = 500
"""Longest channel, recipient and idempotency key, in characters."""

PAYLOAD_BYTES = 256 * 1024
"""Largest payload by default, as UTF-8 encoded JSON. A large thing belongs elsewhere, its
address here."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with one field of a delivery: `recipient`, or `payload.subject`."""

    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


Check = Callable[[str, Mapping[str, Any]], Iterable[Fault]]
"""What a channel has against a recipient and a payload, found without asking anybody else."""


class InvalidDeliveryError(OutboxError):
    """A delivery cannot be enqueued. `place` is its index in the call, from 0."""

    def __init__(self, place: int, *faults: Fault) -> None:
        super().__init__(f"delivery {place}: " + "; ".join(map(str, faults)))
        self.place = place
        self.faults = faults


class PayloadTooLargeError(InvalidDeliveryError):
    """The payload has more bytes than the outbox takes. `size` and `most` are in bytes."""

    def __init__(self, place: int, size: int, most: int) -> None:
        super().__init__(place, Fault("payload", f"has {size} bytes, and at most {most} are taken"))
        self.size = size
        self.most = most


def payload_text(
    place: int,
    delivery: NewDelivery,
    *,
    most_bytes: int = PAYLOAD_BYTES,
    check: Check | None = None,
) -> str:
    """The payload as the JSON text that is stored, once every field of the delivery is in order.

    Raises InvalidDeliveryError for the first field that is not, or with all that its channel's
    `check` has against it; PayloadTooLargeError when the payload has more than `most_bytes` bytes.
    """
    _text(place, "channel", delivery.channel, NAME_LENGTH)
    _text(place, "recipient", delivery.recipient, RECIPIENT_LENGTH)
    if delivery.idempotency_key is not None:
        _text(place, "idempotency_key", delivery.idempotency_key, KEY_LENGTH)
    _time(place, delivery)
    text = _json(place, delivery.payload)
    size = len(text.encode())
    if size > most_bytes:
        raise PayloadTooLargeError(place, size, most_bytes)
    faults = () if check is None else tuple(check(delivery.recipient, delivery.payload))
    if faults:
        raise InvalidDeliveryError(place, *faults)
    return text


def _text(place: int, field: str, value: object, longest: int) -> None:
    if not isinstance(value, str):
        raise InvalidDeliveryError(place, Fault(field, f"must be text, not {type(value).__name__}"))
    if not value:
        raise InvalidDeliveryError(place, Fault(field, "must not be empty"))
    if len(value) > longest:
        raise InvalidDeliveryError(
            place, Fault(field, f"has {len(value)} characters, and at most {longest} are taken")
        )
    if fault := _unstorable(value):
        raise InvalidDeliveryError(place, Fault(field, fault))


def _time(place: int, delivery: NewDelivery) -> None:
    delay_s: object = delivery.delay_s
    send_at: object = delivery.send_at
    if isinstance(delay_s, bool) or not isinstance(delay_s, int | float):
        raise InvalidDeliveryError(place, Fault("delay_s", "must be a number of seconds"))
    if not math.isfinite(delay_s) or not 0 <= delay_s <= LONGEST_S:
        raise InvalidDeliveryError(
            place,
            Fault("delay_s", f"must lie between 0 and {LONGEST_S:.0f}, not at {delay_s:g}"),
        )
    if send_at is None:
        return
    if not isinstance(send_at, datetime) or send_at.utcoffset() is None:
        raise InvalidDeliveryError(place, Fault("send_at", "must be a time with its zone"))
    if delay_s:
        raise InvalidDeliveryError(place, Fault("send_at", "cannot be given together with delay_s"))


def _json(place: int, payload: object) -> str:
    if not isinstance(payload, Mapping):
        raise InvalidDeliveryError(
            place, Fault("payload", f"must be a mapping, not {type(payload).__name__}")
        )
    if found := _foreign(payload, "payload"):
        raise InvalidDeliveryError(place, Fault(*found))
    try:
        return json.dumps(dict(payload), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidDeliveryError(place, Fault("payload", f"is no JSON: {error}")) from error


def _foreign(payload: Mapping[Any, Any], name: str) -> tuple[str, str] | None:
    """Where the payload holds something that PostgreSQL's jsonb cannot, and what.

    Without recursion, so that no depth is too deep for it.
    """
    waiting: list[tuple[str, object]] = [(name, payload)]
    seen: set[int] = set()
    while waiting:
        where, value = waiting.pop()
        if isinstance(value, str):
            if fault := _unstorable(value):
                return where, fault
        elif isinstance(value, Mapping | list | tuple):
            if id(value) in seen:
                continue
            seen.add(id(value))
            if isinstance(value, Mapping):
                for key, inner in value.items():
                    if not isinstance(key, str):
                        return where, f"has a key that is no text: {key!r}"
                    if fault := _unstorable(key):
                        return where, f"has a key that {fault}"
                    waiting.append((f"{where}.{key}", inner))
            else:
                waiting.extend((f"{where}.{number}", inner) for number, inner in enumerate(value))
    return None


def _unstorable(text: str) -> str | None:
    if "\0" in text:
        return "holds the null character, which PostgreSQL cannot store"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "holds half a surrogate pair, which is no text"
    return None
