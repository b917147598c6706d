"""The checker finds each thing that can go wrong, and nothing in a run in which nothing did."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from tests.chaos.checker import check
from tests.chaos.receiver import Call
from tests.chaos.record import Change, Fault, Record, Row


def _change(seq: int, writer: str, old: str | None, new: str, **more: object) -> Change:
    values: dict[str, object] = {
        "old_attempts": None if old is None else 1,
        "attempts": 1,
        "max_attempts": 5,
        "old_holder": None,
        "holder": None,
        "old_lease": None,
    }
    return Change(seq, float(seq), writer, 1, old, new, **(values | more))  # type: ignore[arg-type]


def _claim(seq: int, holder: str, attempt: int) -> Change:
    return _change(
        seq,
        holder,
        "pending",
        "processing",
        old_attempts=attempt - 1,
        attempts=attempt,
        holder=holder,
    )


def _end(  # noqa: PLR0913, PLR0917 - a line of the history, in its order
    seq: int, writer: str, new: str, attempt: int, holder: str, lease: float
) -> Change:
    return _change(
        seq,
        writer,
        "processing",
        new,
        old_attempts=attempt,
        attempts=attempt,
        old_holder=holder,
        old_lease=lease,
    )


ADDED = _change(0, "producer", None, "pending", attempts=0)


def _good() -> Record:
    """Worker a is frozen in the middle of a call; b reaps, claims and sends."""
    return Record(
        acknowledged={"k"},
        undone={"u"},
        rows=[Row(1, "sent", 2, "k", None, None)],
        history=[
            ADDED,
            _claim(1, "a", 1),
            _end(5, "b", "pending", 1, "a", 4.0),
            _claim(6, "b", 2),
            _end(7, "b", "sent", 2, "b", 9.0),
        ],
        calls=[Call(1, 1, "a", "x", 2.0), Call(1, 2, "b", "x", 6.0, 6.5, 200)],
        effects=Counter({1: 1}),
        faults=[Fault("freeze", "a", 1.5, 8.0)],
        depth={"sent": 1},
        recount={"sent": 1},
    )


def test_a_good_run_has_no_findings() -> None:
    """A takeover that a fault explains is as it should be."""
    assert check(_good()) == []


def _with_history(*history: Change) -> Record:
    return replace(_good(), history=list(history))


BROKEN = {
    "is gone": replace(_good(), acknowledged={"k", "lost"}),
    "was rolled back and is there": replace(_good(), undone={"k"}),
    "never committed": replace(_good(), calls=[*_good().calls, Call(2, 1, "a", "x", 1.0)]),
    "is stuck": replace(_good(), rows=[Row(1, "processing", 2, "k", None, None)]),
    "without a reason": replace(_good(), rows=[Row(1, "dead", 2, "k", None, "exhausted")]),
    "while a held attempt 1": _with_history(
        ADDED, _claim(1, "a", 1), _end(3, "b", "pending", 1, "a", 4.0)
    ),
    "settled what it did not hold": _with_history(
        ADDED, _claim(1, "a", 1), _end(5, "b", "sent", 1, "a", 4.0)
    ),
    "claimed twice": _with_history(ADDED, _claim(1, "a", 1), _claim(2, "b", 1)),
    "b took it from a": _with_history(
        ADDED,
        _claim(1, "a", 1),
        _change(2, "b", "processing", "processing", old_holder="a", holder="b"),
    ),
    "attempts 1 → 0": _with_history(
        ADDED, _claim(1, "a", 1), _change(2, "a", "processing", "pending", attempts=0)
    ),
    "made dead into sent": _with_history(
        ADDED,
        _claim(1, "a", 1),
        _end(2, "a", "dead", 1, "a", 4.0),
        _change(3, "b", "dead", "sent"),
    ),
    "made sent into pending": _with_history(
        ADDED,
        _claim(1, "a", 1),
        _end(2, "a", "sent", 1, "a", 4.0),
        _change(3, "operator", "sent", "pending"),
    ),
    "was sent 2 times": replace(_good(), calls=[*_good().calls, _good().calls[1]]),
    "no fault had hit it": replace(_good(), faults=[Fault("freeze", "c", 1.5, 8.0)]),
    "only 0 faults": replace(_good(), faults=[]),
    "had 0 effects": replace(_good(), effects=Counter()),
    "had 2 effects": replace(_good(), effects=Counter({1: 2})),
    "the receiver took it": replace(_good(), rows=[Row(1, "failed", 2, "k", "no", "refused")]),
    "not the same": replace(_good(), calls=[_good().calls[0], Call(1, 2, "b", "y", 6.0, 6.5, 200)]),
    "depth says": replace(_good(), depth={"sent": 2}),
}


@pytest.mark.parametrize("finding", BROKEN)
def test_what_is_wrong_is_found(finding: str) -> None:
    """Each promise that is broken is named."""
    assert any(finding in text for text in check(BROKEN[finding]))
