"""A job before it is taken: its fields, checked, and as the script wants them."""

from __future__ import annotations

import re
import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .errors import LONGEST_S, InvalidJobError

if TYPE_CHECKING:
    from .codec import Codec

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,99}")
LARGEST_PAYLOAD = 1_048_576
HIGHEST_PRIORITY = 1_000
LONGEST_KEY = 200
MOST_ATTEMPTS = 1000
SHORTEST_S = 0.001
LATEST = 32_503_680_000.0
"""The year 3000."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """What to do, and how.

    `task` is a name that workers know. `payload` is anything the queue's codec writes, at most
    1 MiB of it. `delay_s` seconds from now, or `at`, seconds since 1970 by the server's clock, but
    not both. A higher `priority` is a head start (a minute each unless the queue says otherwise).
    `id` makes enqueueing again harmless; `unique` makes it so for as long as another job with the
    same key has not ended. `keep_s` is how long it stays to be seen once it is done; 0 for not.
    """

    task: str
    payload: Any = None
    delay_s: float = 0.0
    at: float | None = None
    priority: int = 0
    max_attempts: int = 5
    timeout_s: float = 300.0
    keep_s: float | None = None
    unique: str | None = None
    id: str | None = None


def new_id() -> str:
    """Return an id that sorts by time: 48 bits of milliseconds, then chance, as UUID version 7."""
    value = (time.time_ns() // 1_000_000 & (1 << 48) - 1) << 80
    value |= uuid.uuid4().int & (1 << 80) - 1
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return str(uuid.UUID(int=value))


def arguments(job: NewJob, codec: Codec) -> list[Any]:
    """Return the ten values of enqueue.lua, the id first.

    Raises InvalidJobError, which names the field, for what makes no sense.
    """
    _require(_is_name(job.task), "task", "not a name")
    _require(job.id is None or _is_name(job.id), "id", "not a name")
    _require(
        job.unique is None or (isinstance(job.unique, str) and 0 < len(job.unique) <= LONGEST_KEY),
        "unique",
        "not 1 to 200 characters",
    )
    _require(job.at is None or job.delay_s == 0, "at", "given together with delay_s")
    _require(job.at is None or _within(0, job.at, LATEST), "at", "not from 1970 to the year 3000")
    _require(_within(0, job.delay_s, LONGEST_S), "delay_s", "not from 0 to ten years")
    _require(
        _whole(-HIGHEST_PRIORITY, job.priority, HIGHEST_PRIORITY),
        "priority",
        "not a whole number from -1000 to 1000",
    )
    _require(
        _whole(1, job.max_attempts, MOST_ATTEMPTS),
        "max_attempts",
        "not a whole number from 1 to 1000",
    )
    _require(
        _within(SHORTEST_S, job.timeout_s, LONGEST_S), "timeout_s", "not from 0.001 s to ten years"
    )
    _require(
        job.keep_s is None or _within(0, job.keep_s, LONGEST_S), "keep_s", "not from 0 to ten years"
    )
    try:
        payload = codec.encode(job.payload)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidJobError("payload", f"cannot be written: {error}") from error
    _require(len(payload) <= LARGEST_PAYLOAD, "payload", f"{len(payload)} bytes are too many")
    return [
        job.id or new_id(),
        job.task,
        payload,
        round(job.delay_s * 1000),
        "" if job.at is None else round(job.at * 1000),
        job.priority,
        job.max_attempts,
        round(job.timeout_s * 1000),
        "" if job.keep_s is None else round(job.keep_s * 1000),
        job.unique or "",
    ]


def _is_name(given: object) -> bool:
    return isinstance(given, str) and NAME.fullmatch(given) is not None


def _within(least: float, given: object, most: float) -> bool:
    """Tell whether it is a number in these bounds; NaN is in none."""
    return isinstance(given, (int, float)) and least <= given <= most


def _whole(least: int, given: object, most: int) -> bool:
    return isinstance(given, int) and not isinstance(given, bool) and least <= given <= most


def _require(holds: object, field: str, fault: str) -> None:
    if not holds:
        raise InvalidJobError(field, fault)
