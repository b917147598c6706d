"""Which errors pass by themselves, so that trying again makes sense."""

from __future__ import annotations

from redis.exceptions import (
    BusyLoadingError,
    ClusterDownError,
    ClusterError,
    ConnectionError,  # noqa: A004 - redis-py names it so
    MasterDownError,
    ReadOnlyError,
    RedisClusterException,
    RedisError,
    TimeoutError,  # noqa: A004 - the same
    TryAgainError,
)

FAULTS = (RedisError, RedisClusterException, OSError)
"""Whatever may come instead of an answer."""
PASSING = (
    BusyLoadingError,
    ClusterDownError,
    ClusterError,
    ConnectionError,
    MasterDownError,
    ReadOnlyError,
    RedisClusterException,
    TimeoutError,
    TryAgainError,
    OSError,
)
WORDS = ("BUSY", "UNBLOCKED", "NOREPLICAS", "MISCONF", "UNKILLABLE")
"""How the server's refusals begin that redis-py has no class for."""


def is_passing(error: Exception) -> bool:
    """Tell whether the server is away, starts, fails over or is busy; a fault of ours is not."""
    return isinstance(error, PASSING) or str(error).startswith(WORDS)
