"""A job's hash, as it lies in the server, turned into what Python works with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from .errors import QueueError
from .model import Claim, Job, Outcome, Question, State, Turn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .codec import Codec


def job_from(
    id_: str,
    fields: Mapping[bytes, bytes],
    log: Sequence[bytes],
    lease: float | None,
    codec: Codec,
) -> Job:
    """Return the job that these fields make."""

    def text(name: bytes) -> str | None:
        return fields[name].decode("utf-8", "replace") if fields.get(name) else None

    def number(name: bytes) -> int | None:
        return round(float(fields[name])) if fields.get(name) else None

    def sure(name: bytes) -> int:
        return number(name) or 0

    ended = fields[b"state"] in {b"done", b"dead"}
    return Job(
        id=id_,
        state=cast("State", fields[b"state"].decode()),
        task=fields[b"task"].decode(),
        payload=codec.decode(fields[b"payload"]),
        priority=sure(b"priority"),
        attempts=sure(b"attempts"),
        max_attempts=sure(b"max_attempts"),
        lost=sure(b"lost"),
        token=sure(b"token"),
        queued_ms=sure(b"queued_ms"),
        due_ms=sure(b"due_ms"),
        claimed_ms=number(b"claimed_ms"),
        ended_ms=number(b"ended_ms") if ended else None,
        lease_ms=None if lease is None else int(lease),
        worker=text(b"worker"),
        progress=float(fields[b"progress"]) if b"progress" in fields else None,
        error=text(b"error"),
        reason=text(b"reason"),
        result=codec.decode(fields[b"result"]) if fields.get(b"result") else None,
        unique=text(b"unique"),
        log=[_entry(line) for line in log],
    )


def turn_from(answer: Sequence[Any]) -> Turn:
    """Return what turn.lua answered.

    Raises QueueError if this worker has sent a later turn already: two go by the same id.
    """
    if answer[0] == b"stale":
        raise QueueError("another worker goes by this worker's id")
    now, verdicts, jobs, due, paused, more, questions = answer
    return Turn(
        now_ms=now,
        verdicts=[verdict.decode() for verdict in verdicts],
        claims=[_claim(job) for job in jobs],
        due_ms=None if due < 0 else due,
        paused=bool(paused),
        more=bool(more),
        questions=[
            Question(name.decode(), version, cron.decode(), zone.decode(), after)
            for name, version, cron, zone, after in questions
        ],
    )


def outcome_arguments(outcomes: Sequence[Outcome]) -> tuple[bytes, bytes]:
    """Return outcomes as turn.lua reads them: what each is, and their texts."""
    lines = "\n".join(f"{o.id} {o.token} {o.kind} {o.delay_ms} {len(o.text)}" for o in outcomes)
    return lines.encode(), b"".join(outcome.text for outcome in outcomes)


def _claim(job: Sequence[Any]) -> Claim:
    id_, token, task, payload, attempts, lost, timeout, queued, due, most = job
    return Claim(
        id=id_.decode(),
        token=int(token),
        task=task.decode(),
        payload=payload,
        attempts=int(attempts),
        lost=int(lost),
        timeout_ms=int(timeout),
        queued_ms=int(queued),
        due_ms=round(float(due)),
        max_attempts=int(most),
    )


def _entry(line: bytes) -> tuple[int, str, str]:
    when, what, detail = line.decode("utf-8", "replace").split(" ", 2)
    return round(float(when)), what, detail
