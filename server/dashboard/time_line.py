"""What has become of a job, in the order of time."""

from __future__ import annotations

from dataclasses import dataclass

from server.dashboard.words import NONE, Words, texts
from server.redisq import Job

TONES = {"failed": "failed", "lost": "failed", "late": "failed", "dead": "dead"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One line. `tone` is the state whose sign and colour it has."""

    at_ms: int
    text: str
    tone: str
    error: str | None = None


def time_line(job: Job, words: Words) -> list[Entry]:
    """Every line that the job has kept, the oldest first; what began as usual keeps its last."""
    lines = [Entry(job.queued_ms, words.say("line.queued"), "ready")]
    if job.due_ms > job.queued_ms and job.state in {"scheduled", "ready"}:
        lines.append(Entry(job.due_ms, words.say("line.due"), "scheduled"))
    if job.claimed_ms is not None:
        claimed = words.say("line.claimed", worker=job.worker or NONE)
        lines.append(Entry(job.claimed_ms, claimed, "active"))
    lines += [_noted(at, what, detail, words) for at, what, detail in job.log]
    if job.state == "done" and job.ended_ms is not None:
        lines.append(Entry(job.ended_ms, words.say("line.done"), "done"))
    return sorted(lines, key=lambda entry: entry.at_ms)


def _noted(at: int, what: str, detail: str, words: Words) -> Entry:
    tone = TONES.get(what, "ready")
    if what == "failed":
        return Entry(at, words.say("line.failed"), tone, detail)
    if what == "dead":
        return Entry(at, words.say("line.dead", reason=words.dead(detail)), tone)
    if f"line.{what}" in texts():
        return Entry(at, words.say(f"line.{what}", detail=detail), tone)
    return Entry(at, words.say("line.other", what=what, detail=detail), tone)
