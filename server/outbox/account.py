"""Says what a worker did: in its tally, and in the log with a fixed action word for each event."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from .model import Delivery, Settled, Status, Tally, Verdict

log = logging.getLogger(__name__)


def told(text: str, action: str, deliveries: Sequence[Delivery], *, level: int) -> None:
    """Logs an event that concerns several deliveries; `text` has a place for their number."""
    if log.isEnabledFor(level):
        ids = sorted(delivery.id for delivery in deliveries)
        log.log(level, text, len(ids), extra={"action": action, "ids": ids})


def count(tally: Tally, settled: Sequence[Settled]) -> None:
    """Counts what was settled, and logs each write that came late."""
    for answer in settled:
        if answer.verdict is Verdict.REFUSED:
            tally.refused += 1
            log.warning(
                "refused a late write to delivery %d",
                answer.id,
                extra={"action": "refuse"} | _facts(answer),
            )
            continue
        if answer.verdict is Verdict.LATE:
            tally.late += 1
            log.warning(
                "accepted that delivery %d was sent, late",
                answer.id,
                extra={"action": "late"} | _facts(answer),
            )
        match answer.status:
            case Status.SENT:
                tally.sent += 1
            case Status.PENDING:
                tally.retried += 1
            case Status.FAILED:
                tally.failed += 1
            case Status.DEAD:
                tally.dead += 1
            case Status.PROCESSING | None:
                raise AssertionError(answer)
    if settled:
        log.info("settled %d deliveries", len(settled), extra={"action": "settle"})


def _facts(answer: Settled) -> dict[str, object]:
    return {
        "delivery": answer.id,
        "attempt": answer.attempt,
        "current_attempt": answer.current_attempt,
        "status": answer.status,
    }
