"""What a chaos run did and found, as text."""

from __future__ import annotations

from collections import Counter

from tests.chaos.record import Record

MOST = 20
"""How many findings are printed."""


def report(record: Record, findings: list[str], seed: int, took_s: float) -> str:
    """A few lines of figures, and every promise that was not kept."""
    kinds = Counter(f.kind for f in record.faults if f.kind != "stall")
    missed = Counter(f.kind for f in record.faults if not f.hit)
    ends = Counter(row.status for row in record.rows)
    taken = sum(call.answer == 200 for call in record.calls)
    lines = [
        f"{len(record.rows)} deliveries, {sum(kinds.values())} faults, {took_s:.0f} s, seed {seed}",
        "",
        *(
            f"  {kind:18}{count:6}" + (f"   ({missed[kind]} found nothing)" if missed[kind] else "")
            for kind, count in sorted(kinds.items())
        ),
        f"  {'retried by hand':18}{record.retried:6}",
        f"  {'cancelled by hand':18}{record.cancelled:6}",
        f"  {'stalls':18}{sum(f.kind == 'stall' for f in record.faults):6}",
        "",
        f"  {'calls':18}{len(record.calls):6}",
        f"  {'effects':18}{sum(record.effects.values()):6}",
        f"  {'duplicate calls':18}{taken - len({c.id for c in record.calls if c.answer == 200}):6}",
        f"  {'lost leases':18}{record.verdicts.get('lost', 0):6}",
        f"  {'late sent taken':18}{record.verdicts.get('late', 0):6}",
        f"  {'late writes refused':18}{record.verdicts.get('refused', 0):5}",
        f"  {'handed back':18}{record.verdicts.get('released', 0):6}",
        "",
        "  " + ", ".join(f"{count} {status}" for status, count in sorted(ends.items())),
        "",
    ]
    if findings:
        lines += [f"NOT KEPT ({len(findings)}):", *(f"  {text}" for text in findings[:MOST])]
    else:
        lines.append("Every promise was kept.")
    return "\n".join(lines) + "\n"
