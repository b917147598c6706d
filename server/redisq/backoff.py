"""How long to wait before a failed job runs again."""

from __future__ import annotations

from dataclasses import dataclass

JITTER = 0.1
LONGEST_MS = 3_600_000


@dataclass(frozen=True)
class Backoff:
    """`base_ms` times two to the power of the failures, up to `longest_ms`, and up to 10 % more.

    The more is there so that jobs that failed together do not come back together.
    """

    base_ms: int = 1000
    longest_ms: int = LONGEST_MS

    def delay_ms(self, attempts: int, luck: float) -> int:
        """Give the pause after the failure that makes `attempts` of them; `luck` from 0 to 1."""
        exponent = min(attempts, 40)
        pause = min(self.base_ms * 2**exponent, self.longest_ms)
        return int(pause * (1 + JITTER * luck))
