"""Which errors pass by themselves, so that trying again makes sense."""

from __future__ import annotations

from redis.exceptions import (
    BusyLoadingError,
    ClusterDownError,
    ConnectionError,  # noqa: A004 - redis-py names it so
    MasterDownError,
    ReadOnlyError,
    TimeoutError,  # noqa: A004 - the same
    TryAgainError,
)

PASSING = (
    BusyLoadingError,
    ClusterDownError,
    ConnectionError,
    MasterDownError,
    ReadOnlyError,
    TimeoutError,
    TryAgainError,
    OSError,
)
WORDS = ("BUSY", "UNBLOCKED", "NOREPLICAS", "MISCONF", "UNKILLABLE")
"""How the server's refusals begin that redis-py has no class for."""


def is_passing(error: Exception) -> bool:
    """Tell whether the server is away, starts, fails over or is busy; a fault of ours is not."""
    return isinstance(error, PASSING) or str(error).startswith(WORDS)
