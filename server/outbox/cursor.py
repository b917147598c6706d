"""How far somebody has read the changes: which transactions they have seen. Values only."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

from .errors import OutboxError

LONGEST = 8000
"""Characters. A cursor names each transaction that was open; a thousand of them fit."""

_SNAPSHOT = re.compile(r"(\d{1,20}):(\d{1,20}):((?:\d{1,20})(?:,\d{1,20})*)?", re.ASCII)


class UnreadableCursorError(OutboxError):
    """A text that no cursor of ours looks like."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Which transactions had ended at one moment, as PostgreSQL's pg_snapshot says it.

    All below `xmin` had, none from `xmax` on, and of those between all but `running`.
    """

    xmin: int
    xmax: int
    running: tuple[int, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """The snapshot of a text as '795:799:795,797'. Raises UnreadableCursorError."""
        match = _SNAPSHOT.fullmatch(text)
        if match is None:
            raise UnreadableCursorError(f"{text[:40]!r} is no snapshot")
        xmin, xmax = int(match[1]), int(match[2])
        running = tuple(int(part) for part in match[3].split(",")) if match[3] else ()
        inside = all(xmin <= one < xmax for one in running)
        if not (0 < xmin <= xmax < 1 << 63 and inside and list(running) == sorted(set(running))):
            raise UnreadableCursorError(f"{text[:40]!r} is no snapshot")
        return cls(xmin, xmax, running)

    def __str__(self) -> str:
        return f"{self.xmin}:{self.xmax}:{','.join(map(str, self.running))}"

    def sees(self, transaction: int) -> bool:
        """Whether a transaction had ended by then."""
        return transaction < self.xmin or (
            transaction < self.xmax and transaction not in self.running
        )

    def covers(self, other: Snapshot) -> bool:
        """Whether everything that `other` sees is seen here too: it is no later."""
        return self.xmax >= other.xmax and not any(other.sees(one) for one in self.running)


@dataclass(frozen=True, slots=True)
class Cursor:
    """What a reader has seen: everything in `seen`, and part of a look that was too long.

    That look is the snapshot `upto`, of which it has had what is numbered up to `seq`.
    """

    seen: Snapshot
    upto: Snapshot | None = None
    seq: int = 0

    @classmethod
    def parse(cls, text: str) -> Self:
        """The cursor of a text that `str` has made. Raises UnreadableCursorError."""
        if len(text) > LONGEST:
            raise UnreadableCursorError(f"{text[:40]!r}… is no cursor")
        parts = text.split("/")
        if len(parts) == 1:
            return cls(Snapshot.parse(text))
        if len(parts) != 3 or not re.fullmatch(r"\d{1,18}", parts[2], re.ASCII):  # noqa: PLR2004
            raise UnreadableCursorError(f"{text[:40]!r} is no cursor")
        return cls(Snapshot.parse(parts[0]), Snapshot.parse(parts[1]), int(parts[2]))

    def __str__(self) -> str:
        if self.upto is None:
            return str(self.seen)
        return f"{self.seen}/{self.upto}/{self.seq}"

    def has(self, transaction: int, seq: int) -> bool:
        """Whether its reader has had a change of this transaction with this number."""
        if self.seen.sees(transaction):
            return True
        return self.upto is not None and seq <= self.seq and self.upto.sees(transaction)

    def led_to(self, other: Cursor) -> Cursor:
        """Where its reader stands after it was given what another reader had up to `other`.

        The other one was no further when this one came here, and both have what came since.
        """
        if other.upto is None or not self.seen.covers(other.seen):
            return other
        return Cursor(self.seen, other.upto, other.seq)
