"""Judges a chaos run by its record. Pure: the same record gives the same findings."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from tests.chaos.figures import SEND_TIMEOUT_S
from tests.chaos.receiver import Call
from tests.chaos.record import EVERYBODY, OPERATOR, Change, Fault, Record

FINAL = ("sent", "failed", "dead")
BY_HAND = {("failed", "pending"), ("dead", "pending"), ("pending", "failed")}


def check(record: Record) -> list[str]:
    """What the outbox promised and did not keep, a sentence for each finding; empty if all held."""
    changes: dict[int, list[Change]] = defaultdict(list)
    for change in sorted(record.history, key=lambda c: c.seq):
        changes[change.id].append(change)
    calls: dict[int, list[Call]] = defaultdict(list)
    for call in record.calls:
        calls[call.id].append(call)
    found = [*_nothing_lost(record), *_every_end_is_an_end(record)]
    for number, history in changes.items():
        found += _fenced(number, history)
        found += _called_as_often_as_due(number, history, calls[number], record.faults)
    found += _one_effect(record, calls)
    if dict(record.depth) != dict(record.recount):
        found.append(f"depth says {record.depth}, the rows say {record.recount}")
    return found


def _nothing_lost(record: Record) -> Iterator[str]:
    keys = {row.key for row in record.rows}
    for key in sorted(record.acknowledged - keys):
        yield f"{key} was committed and is gone"
    for key in sorted(record.undone & keys):
        yield f"{key} was rolled back and is there"
    unknown = {call.id for call in record.calls} - {row.id for row in record.rows}
    for number in sorted(unknown):
        yield f"delivery {number} was sent and never committed"


def _every_end_is_an_end(record: Record) -> Iterator[str]:
    for row in record.rows:
        if row.status not in FINAL:
            yield f"delivery {row.id} is stuck as {row.status}"
        elif row.status != "sent" and not (row.error and row.settle_class):
            yield f"delivery {row.id} is {row.status} without a reason"


def _fenced(number: int, history: list[Change]) -> Iterator[str]:
    """One holder at a time, one claimant an attempt, and no write by anybody else."""
    claimants: dict[int, str | None] = {}
    for change in history:
        if change.old_status is not None:
            wrong = _wrong(change, claimants)
            if wrong:
                yield f"delivery {number}: {wrong}"
            if _is_claim(change):
                claimants[change.attempts] = change.holder


def _wrong(change: Change, claimants: dict[int, str | None]) -> str | None:
    before = change.old_attempts or 0
    if not before <= change.attempts <= change.max_attempts:
        return f"attempts {before} → {change.attempts} of {change.max_attempts}"
    if _is_claim(change):
        again = change.attempts != before + 1 or change.attempts in claimants
        return f"attempt {change.attempts} was claimed twice" if again else None
    if change.old_status == "processing":
        return _wrong_by_whom(change)
    late = change.status == "sent" and change.old_status in ("pending", "dead")
    if late and change.writer == claimants.get(change.attempts):
        return None
    by_hand = (change.old_status, change.status) in BY_HAND
    if by_hand and change.writer == OPERATOR:
        return None
    return f"{change.writer} made {change.old_status} into {change.status}"


def _wrong_by_whom(change: Change) -> str | None:
    """Whoever holds it may do anything with it, the others nothing before its lease is over."""
    if change.status == "processing":
        if (change.holder, change.attempts) == (change.old_holder, change.old_attempts):
            return None
        return f"{change.holder} took it from {change.old_holder}"
    if change.writer == change.old_holder:
        return None
    if change.old_lease is None or change.old_lease > change.at:
        return (
            f"{change.writer} made it {change.status} while {change.old_holder} held "
            f"attempt {change.attempts}"
        )
    if change.status not in ("pending", "dead"):
        return f"{change.writer} settled what it did not hold"
    return None


def _is_claim(change: Change) -> bool:
    return (change.old_status, change.status) == ("pending", "processing")


def _called_as_often_as_due(
    number: int, history: list[Change], calls: list[Call], faults: list[Fault]
) -> Iterator[str]:
    """One call, and at most one more for each fault that hit the delivery or its holder."""
    by_attempt = Counter(call.attempt for call in calls)
    for attempt, count in by_attempt.items():
        if count > 1:
            yield f"delivery {number}: attempt {attempt} was sent {count} times"
    hits = 0
    claim: Change | None = None
    for change in history:
        if _is_claim(change):
            claim = change
        elif change.status not in ("pending", "dead"):
            continue
        elif claim is None or change.old_status != "processing":
            hits += change.old_status is not None  # an operator's retry
        elif _has_a_cause(claim, change, calls, faults):
            hits += by_attempt[claim.attempts]
        elif by_attempt[claim.attempts] or not _released(claim, change):
            yield (
                f"delivery {number}: attempt {claim.attempts} of {claim.holder} came to nothing "
                f"after {change.at - claim.at:.1f} s and no fault had hit it"
            )
    if len(calls) > 1 + hits:
        yield f"delivery {number}: {len(calls)} calls, but only {hits} faults hit it"


def _has_a_cause(claim: Change, end: Change, calls: list[Call], faults: list[Fault]) -> bool:
    """Whether the receiver failed at this attempt, or something was done to whoever held it."""
    return any(_failed(call) for call in calls if call.attempt == claim.attempts) or any(
        fault.target in (claim.holder, EVERYBODY)
        and fault.began <= end.at
        and fault.ended >= claim.at
        for fault in faults
    )


def _failed(call: Call) -> bool:
    """Whether the receiver itself was at fault: an error, or no answer in time."""
    took = 0.0 if call.ended is None else call.ended - call.began
    return call.late or call.answer == 503 or took >= SEND_TIMEOUT_S


def _released(claim: Change, change: Change) -> bool:
    return change.writer == claim.holder and change.max_attempts == claim.max_attempts + 1


def _one_effect(record: Record, calls: dict[int, list[Call]]) -> Iterator[str]:
    for row in record.rows:
        effects = record.effects.get(row.id, 0)
        if effects > 1 or (row.status == "sent" and effects != 1):
            yield f"delivery {row.id} is {row.status} and had {effects} effects"
        if row.settle_class == "refused" and effects:
            yield f"delivery {row.id} counts as refused, and the receiver took it"
        if len({call.body for call in calls[row.id]}) > 1:
            yield f"delivery {row.id} was not the same at every attempt"
