"""How much of a chaos run there is, and of what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TO_WORKERS = ("kill", "freeze", "lose_reply", "half_open", "slow_down")
KINDS = (
    *TO_WORKERS,
    "restart",
    "kill_server_everysec",
    "kill_server_always",
    "flush_scripts",
    "fill_memory",
    "promote",
)
"""What is done by default: functions of faults.py."""

AIMED = ("kill_busy", "kill_failed", "freeze_busy", "lose_claims")
"""What is done to the weakened subjects, so that their holes are found every time."""

Subject = Literal["queue", "weak-fence", "step1", "step2", "step3"]
"""Who has to keep the promises: the queue, the queue without its fence, or a step of the ladder."""


@dataclass(frozen=True)
class Plan:
    """`faults` of these kinds come in rounds, each kind once a round, in an order by chance."""

    jobs: int
    faults: int
    seed: int
    workers: int = 3
    subject: Subject = "queue"
    kinds: tuple[str, ...] = KINDS

    @property
    def replicated(self) -> bool:
        """Whether a replica is needed; then every other lot of jobs is confirmed by it."""
        return "promote" in self.kinds
