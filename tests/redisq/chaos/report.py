"""What a chaos run did and found, as text."""

from __future__ import annotations

import re
from collections import Counter

from tests.redisq.chaos.plan import Plan
from tests.redisq.chaos.record import Seen

MOST = 40
"""How many findings are printed."""


def report(plan: Plan, seen: Seen, findings: list[str], took_s: float) -> str:
    """A few lines of figures, and every promise that was not kept."""
    states = Counter(end.state for end in seen.jobs.values())
    verdicts = Counter(note["verdict"] for note in seen.notes if note["what"] == "verdict")
    failovers = [window for window in seen.windows if window.kind == "failover"]
    risked = Counter(
        one.safe
        for one in seen.confirmed.values()
        if any(window.meets(one.sent, one.answered) for window in failovers)
    )
    forgotten = Counter(seen.confirmed[id_].safe for id_ in seen.forgotten())
    figures = {
        "runs": sum(note["what"] == "run" for note in seen.notes),
        "outcomes accepted": verdicts["ok"],
        "outcomes refused as late": verdicts["late"],
        "failed attempts": sum(end.attempts for end in seen.jobs.values()),
        "losses counted": sum(end.lost for end in seen.jobs.values()),
        "given back": sum(end.given_back for end in seen.jobs.values()),
        "refused, memory full": seen.refused,
        "not confirmed in time": seen.unconfirmed,
        "acknowledged around a failover without WAIT": risked[False],
        "... and lost by it": forgotten[False],
        "confirmed by WAIT around a failover": risked[True],
        "... and lost": forgotten[True],
    }
    lines = [
        f"{plan.subject}, seed {plan.seed}, {took_s:.0f} s: {len(seen.confirmed)} jobs, faults:",
        "",
        *(f"  {kind:<44}{count:>8}" for kind, count in sorted(seen.faults.items())),
        "",
        *(f"  {name:<44}{count:>8}" for name, count in figures.items()),
        "",
        "  " + ", ".join(f"{count} {state}" for state, count in sorted(states.items())),
        "",
    ]
    if findings:
        lines += [f"NOT KEPT ({len(findings)}):", *(f"  {line}" for line in findings[:MOST]), ""]
        named = {id_ for line in findings[:MOST] for id_ in re.findall(r"job-\d+", line)}
        lines += [f"  {note}" for note in seen.notes if note["id"] in named][:MOST]
    else:
        lines.append("Every promise was kept.")
    return "\n".join(lines) + "\n"
