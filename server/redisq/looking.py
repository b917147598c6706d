"""Looks at a queue for people: its figures, its workers, and its jobs page by page.

Each call sends a number of commands that does not depend on how many jobs there are, and none that
goes through keys.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from .errors import InvalidCursorError
from .figures import WINDOW_MINUTES, recent
from .model import STATES, State
from .new_job import NAME
from .reasons import MOVING, Reason, reason_of
from .scripts import script
from .seen import MOST_WORKERS, JobPage, Limits, Look, Row, SeenWorker

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .queue import Queue

MOST_LOOKED = 500
"""Jobs that a filter goes through for one page."""

STUCK_OF_EACH = 20

LEASE_MS = 30_000
TOTALS = ("enqueued", "claimed", "done", "failed", "late", "lost", "dead", "dropped")
FIELDS = (
    "state",
    "task",
    "priority",
    "attempts",
    "max_attempts",
    "lost",
    "queued_ms",
    "due_ms",
    "claimed_ms",
    "ended_ms",
    "worker",
    "progress",
    "error",
    "reason",
    "cancel",
    "unknown_since",
)
NEWEST_FIRST = {"done", "dead"}


@dataclass(frozen=True, slots=True)
class Filter:
    """Which jobs of a state: by task, by why they are dead; None asks nothing."""

    task: str | None = None
    reason: str | None = None

    def fits(self, row: Row) -> bool:
        """Whether the job is one of them."""
        return self.task in {None, row.task} and self.reason in {None, row.reason}


ALL = Filter()


async def look_at(queue: Queue) -> Look:
    """Return the queue as it is. Raises redis.exceptions.RedisError."""
    said = await script("look").run(queue.client, queue.base, [WINDOW_MINUTES, MOST_WORKERS])
    now, flat, counts, head, soonest, overdue, minutes, workers = said
    meta = _pairs(flat)
    return Look(
        name=queue.name,
        now_ms=now,
        counts=dict(zip(STATES, counts, strict=True)),
        paused=b"paused" in meta,
        oldest_ms=max(0, now - round(float(head))) if head else None,
        next_due_ms=round(float(soonest)) if soonest else None,
        overdue_leases=overdue,
        limits=_limits(meta, now),
        totals={name: _whole(meta, f"total_{name}") or 0 for name in TOTALS},
        recent=recent([_pairs(minute) for minute in minutes], now),
        workers=[
            _worker(id_.decode(), round(float(beat)), about, holds, now)
            for id_, beat, about, holds in workers
        ],
    )


async def jobs_page(
    queue: Queue,
    state: State,
    *,
    cursor: str | None = None,
    limit: int = 50,
    only: Filter = ALL,
) -> JobPage:
    """Return up to `limit` jobs after `cursor`: what waits in its order, what ended latest first.

    With a filter, 500 jobs are gone through at most, and `cursor` leads on from there. What moves
    meanwhile is in another list; nothing that stays is left out. Raises InvalidCursorError, and
    redis.exceptions.RedisError.
    """
    at, after = _position(cursor)
    asked = limit if only == ALL else MOST_LOOKED
    values = [state, at, after, asked, *FIELDS]
    found, more = await script("page").run(queue.client, queue.base, values)
    rows: list[Row] = []
    looked = 0
    for id_, score, *fields in found:
        looked += 1
        row = _row(id_.decode(), fields, float(score))
        if row is not None and only.fits(row):
            rows.append(row)
            if len(rows) == limit:
                break
    leads_on = looked and (more or looked < len(found))
    last = found[looked - 1] if looked else None
    return JobPage(
        rows=rows,
        cursor=f"{last[1].decode()}:{last[0].decode()}" if leads_on and last else None,
        looked=looked,
    )


async def row_of(queue: Queue, id_: str) -> Row | None:
    """Return a job as a row of its list; None if there is none."""
    values = await queue.client.hmget(f"{queue.base}:job:{id_}", FIELDS)
    lease = await queue.client.zscore(f"{queue.base}:active", id_)
    return _row(id_, [cast("bytes", value or b"") for value in values], lease)


async def stuck(queue: Queue, look: Look) -> list[tuple[Row, Reason]]:
    """Return jobs that do not move, with the reason, of the first 20 in each place."""
    found: list[tuple[Row, Reason]] = []
    for state in ("active", "ready", "scheduled"):
        page = await jobs_page(queue, state, limit=STUCK_OF_EACH)
        reasons = [(row, reason_of(row, look)) for row in page.rows]
        found += [(row, reason) for row, reason in reasons if reason not in MOVING]
    return found


def _position(cursor: str | None) -> tuple[str, str]:
    """Return the score and the id that a cursor names. Raises InvalidCursorError."""
    if cursor is None:
        return "", ""
    score, _, id_ = cursor.partition(":")
    try:
        sound = math.isfinite(float(score)) and NAME.fullmatch(id_) is not None
    except ValueError:
        sound = False
    if not sound:
        raise InvalidCursorError(cursor)
    return score, id_


def _pairs(flat: Sequence[bytes]) -> dict[bytes, bytes]:
    return dict(zip(flat[::2], flat[1::2], strict=True))


def _row(id_: str, values: Sequence[bytes], score: float | None) -> Row | None:
    """Return the row; None for a job that is not there. `score` is that of its place."""
    fields = dict(zip(FIELDS, values, strict=True))
    if not fields["state"]:
        return None

    def number(name: str) -> int | None:
        value = fields[name]
        return round(float(value)) if value else None

    def text(name: str) -> str | None:
        value = fields[name]
        return value.decode("utf-8", "replace") if value else None

    state = cast("State", fields["state"].decode())
    return Row(
        id=id_,
        state=state,
        task=text("task") or "",
        priority=number("priority") or 0,
        attempts=number("attempts") or 0,
        max_attempts=number("max_attempts") or 0,
        lost=number("lost") or 0,
        queued_ms=number("queued_ms") or 0,
        due_ms=number("due_ms") or 0,
        claimed_ms=number("claimed_ms"),
        ended_ms=number("ended_ms") if state in NEWEST_FIRST else None,
        lease_ms=round(score) if state == "active" and score is not None else None,
        worker=text("worker"),
        progress=float(fields["progress"]) if fields["progress"] else None,
        error=text("error"),
        reason=text("reason"),
        cancel_asked=fields["cancel"] != b"",
        unknown_since_ms=number("unknown_since"),
    )


def _limits(meta: Mapping[bytes, bytes], now: int) -> Limits:
    count, span = _whole(meta, "rate_count"), _whole(meta, "rate_ms")
    wait = 0
    if count and span:
        # As turn.lua reckons: the bucket has room for one more when it is this far from full.
        tat = max(_whole(meta, "tat") or 0, now)
        wait = max(0, math.ceil(tat + span / count - now - span))
    return Limits(
        concurrency=_whole(meta, "concurrency"),
        rate_count=count,
        rate_ms=span,
        rate_wait_ms=wait,
        keep_done=_whole(meta, "keep_done"),
        keep_dead=_whole(meta, "keep_dead"),
    )


def _whole(meta: Mapping[bytes, bytes], name: str) -> int | None:
    value = meta.get(name.encode())
    return round(float(value)) if value else None


def _worker(id_: str, beat: int, about: bytes, holds: int, now: int) -> SeenWorker:
    told = _told(about)
    lease = told.get("lease_ms")
    tasks = told.get("tasks")
    return SeenWorker(
        id=id_,
        beat_ms=beat,
        alive=now - beat < (lease if isinstance(lease, int) else LEASE_MS),
        holds=holds,
        host=_of(str, told, "host"),
        pid=_of(int, told, "pid"),
        concurrency=_of(int, told, "concurrency"),
        tasks=[str(task) for task in tasks] if isinstance(tasks, list) else [],
        turned_ms=_of(int, told, "since_turn_ms"),
        turn_ms=_number(told.get("turn_ms")),
    )


def _of(kind: type[Any], told: Mapping[str, Any], name: str) -> Any:
    value = told.get(name)
    return value if isinstance(value, kind) else None


def _told(about: bytes) -> dict[str, Any]:
    """Return what a worker said of itself; nothing where it is not what our workers say."""
    try:
        told = json.loads(about or b"{}")
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None
