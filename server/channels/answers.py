"""What the answer to a webhook means for its delivery. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import Enum
from http import HTTPStatus


class Meaning(Enum):
    """What is done with the delivery."""

    TAKEN = "taken"
    AGAIN = "again"
    FINAL = "final"


FINAL: Mapping[int, str] = {
    400: "the receiver cannot read it, and the same bytes would come again",
    401: "the receiver does not accept the signature or its own credentials",
    403: "the receiver does not want it from us",
    404: "there is no such endpoint",
    405: "the endpoint takes no POST",
    406: "the receiver cannot answer in a form that it thinks we want",
    410: "the endpoint is gone for good",
    411: "the receiver wants it sent in another way",
    413: "it is too large for the receiver",
    414: "the address is too long for the receiver",
    415: "the receiver takes no JSON",
    422: "the receiver understood it and does not accept it",
    451: "the receiver may not take it by law",
}
"""Refused for good, and why another try cannot help. Any other 4xx that is not in AGAIN as well."""

AGAIN: Mapping[int, str] = {
    408: "the receiver waited too long for our bytes",
    409: "something else in the receiver stands in the way at this moment",
    421: "it reached a machine that does not answer for this host",
    423: "something in the receiver is locked at this moment",
    425: "the receiver wants it later",
    429: "the receiver wants fewer at a time",
}
"""Tried again, although the status is a 4xx. Every 5xx is tried again too."""


def meaning(status: int) -> tuple[Meaning, str]:
    """What a status means, and why in half a sentence.

    A redirect is final: it is not followed, since what it names has not been checked and a POST
    would not always stay one; the recipient has to name the endpoint itself.
    """
    match status // 100:
        case 2:
            return Meaning.TAKEN, "taken"
        case 3:
            return Meaning.FINAL, "it leads elsewhere, and redirects are not followed"
        case 4 if status in AGAIN:
            return Meaning.AGAIN, AGAIN[status]
        case 4:
            return Meaning.FINAL, FINAL.get(status, "the receiver does not want it as it is")
        case 5:
            return Meaning.AGAIN, "the receiver has a fault of its own"
        case _:
            return Meaning.AGAIN, "that is no answer to a POST"


def named(status: int) -> str:
    """A status with its name, where it has one: `410 Gone`."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def retry_after(headers: Mapping[str, str], *, now: datetime) -> float:
    """Seconds that the receiver asks us to wait; 0 if it asks for nothing that can be read.

    A date is read against the receiver's own Date header, so that clocks that differ do no harm,
    and against `now` without one.
    """
    value = headers.get("retry-after", "").strip()
    if value.isascii() and value.isdigit():
        return float(value[:12])
    wanted = _date(value)
    if wanted is None:
        return 0.0
    return max(0.0, (wanted - (_date(headers.get("date", "")) or now)).total_seconds())


def _date(value: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
