"""Jobs that come again and again: by an interval, or by a cron line."""

from __future__ import annotations

import logging
import re
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from redis.exceptions import OutOfMemoryError as ServerOutOfMemoryError

from .cron import parsed
from .errors import LONGEST_S, InvalidJobError, OutOfMemoryError, TooManyRepeatsError
from .new_job import NewJob, arguments
from .scripts import Client, script
from .weather import FAULTS, is_passing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .codec import Codec
    from .model import Question

log = logging.getLogger("redisq")

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,79}")
MOST = 1000
"""Series that a queue may have."""
SHORTEST_S = 1.0
FIRST = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True)
class Repeat:
    """A series of jobs as it is now. Times are the server's, in ms since 1970."""

    name: str
    task: str
    payload: Any
    priority: int
    max_attempts: int
    timeout_s: float
    keep_s: float | None
    every_s: float | None
    cron: str | None
    timezone: str | None
    next_ms: int | None
    """None for the moment in which a worker reckons the next time of a cron line."""
    last_ms: int | None
    last_id: str | None
    """The job of the last occurrence, which may be forgotten by now."""
    occurred: int
    skipped: int
    """How often it was due while the one before still waited or ran."""


async def define(  # noqa: PLR0913 - what `Queue.repeat` is given
    client: Client,
    base: str,
    name: str,
    job: NewJob,
    codec: Codec,
    *,
    every: float | None,
    cron: str | None,
    timezone: str | None,
) -> None:
    """Let there be that series, and no other of its name. See `Queue.repeat`."""
    if not NAME.fullmatch(name):
        raise InvalidJobError("name", "not a name of at most 80 characters")
    if (every is None) == (cron is None):
        raise InvalidJobError("every", "either every or cron must be given")
    _, task, payload, _, _, priority, attempts, timeout, keep, _ = arguments(job, codec)
    rhythm: list[Any]
    if cron is None:
        if timezone is not None:
            raise InvalidJobError("timezone", "only for a cron line")
        if not isinstance(every, (int, float)) or not SHORTEST_S <= every <= LONGEST_S:
            raise InvalidJobError("every", "not from 1 s to ten years")
        rhythm = [round(every * 1000), "", "", ""]
    else:
        zone = timezone or "UTC"
        # Refused before the server is asked.
        _next(cron, zone, FIRST)
        seconds, micros = await _clock(client, base)
        now = datetime.fromtimestamp(seconds + micros / 1e6, UTC)
        rhythm = ["", " ".join(cron.split()), zone, _next(cron, zone, now)]
    values = [MOST, name, task, payload, priority, attempts, timeout, keep, *rhythm]
    try:
        answer = await script("repeat").run(client, base, values)
    except ServerOutOfMemoryError as error:
        raise OutOfMemoryError from error
    if answer[0] == b"full":
        raise TooManyRepeatsError(answer[1], MOST)


async def listed(client: Client, base: str, codec: Codec) -> list[Repeat]:
    """Return all series, the next one that is due first."""
    found = await script("series_list").run(client, base, [])
    return [_repeat(name, next_ms, fields, codec) for name, next_ms, fields in found]


async def end(client: Client, base: str, name: str) -> bool:
    """Let there be no such series; tell whether there was one."""
    values = ["end", name, uuid.uuid4().hex]
    return bool(await script("series").run(client, base, values))


async def answer(client: Client, base: str, questions: Sequence[Question]) -> int | None:
    """Tell the server when these series are due next; return ms until the first of all is due.

    None if that is not known. What cannot be answered here, for want of the zone's rules or of a
    server, is asked of another worker a few seconds later.
    """
    due = None
    for question in questions:
        after = datetime.fromtimestamp(question.after_ms / 1000, UTC)
        try:
            at = _next(question.cron, question.zone, after)
            values = ["next", question.name, question.version, question.after_ms, at]
            said = await script("series").run(client, base, values)
        except InvalidJobError as error:
            log.warning(
                "the next time of a series cannot be reckoned here",
                extra={"action": "queue-repeat", "series": question.name, "error": str(error)},
            )
        except FAULTS as error:
            if not is_passing(error):
                raise
        else:
            due = None if said < 0 else int(said)
    return due


def _next(cron: str, zone: str, after: datetime) -> int:
    """Return the next time in ms since 1970. Raises InvalidJobError."""
    try:
        rules = ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InvalidJobError("timezone", f"no zone {zone!r} is known here") from error
    try:
        return round(parsed(cron).next(after, rules).timestamp() * 1000)
    except (ValueError, OverflowError) as error:
        raise InvalidJobError("cron", str(error)) from error


async def _clock(client: Client, base: str) -> tuple[int, int]:
    seconds, micros = await script("clock").run(client, base, [])
    return int(seconds), int(micros)


def _repeat(name: bytes, next_ms: bytes, flat: Sequence[bytes], codec: Codec) -> Repeat:
    fields = dict(zip(flat[::2], flat[1::2], strict=True))

    def number(field: bytes) -> int | None:
        return round(float(fields[field])) if fields.get(field) else None

    def seconds(field: bytes) -> float | None:
        ms = number(field)
        return None if ms is None else ms / 1000

    def text(field: bytes) -> str | None:
        return fields[field].decode() if fields.get(field) else None

    return Repeat(
        name=name.decode(),
        task=fields[b"task"].decode(),
        payload=codec.decode(fields[b"payload"]),
        priority=number(b"priority") or 0,
        max_attempts=number(b"max_attempts") or 0,
        timeout_s=seconds(b"timeout_ms") or 0,
        keep_s=seconds(b"keep_ms"),
        every_s=seconds(b"every_ms"),
        cron=text(b"cron"),
        timezone=text(b"zone"),
        next_ms=None if b"asked_ms" in fields else round(float(next_ms)),
        last_ms=number(b"last_ms"),
        last_id=text(b"last_id"),
        occurred=number(b"occurred") or 0,
        skipped=number(b"skipped") or 0,
    )
