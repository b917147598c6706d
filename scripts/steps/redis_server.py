"""The Redis that the queue is tested on, beside the Valkey that it brings along."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from steps.debian import apt_install
from steps.failure import StepError

if TYPE_CHECKING:
    from steps.place import Place
    from steps.report import Report

_WAY_ROUND = (
    "install Redis (Debian: apt install redis-server)"
    " or run with REDIS_SERVER=/path/to/redis-server"
)


def find_redis_server() -> Path | None:
    """Return the server to use: the one that REDIS_SERVER names, or the one on PATH.

    Raises StepError if REDIS_SERVER names nothing that can be started.
    """
    named = os.environ.get("REDIS_SERVER")
    found = shutil.which(named or "redis-server")
    if named and found is None:
        raise StepError(f"REDIS_SERVER={named} can't be started", _WAY_ROUND)
    return Path(found) if found else None


def get_redis_server(place: Place, report: Report) -> None:
    """Leave a redis-server there: on Debian as root by apt, elsewhere by saying what to do.

    It is started by the tests only; where Debian would start it as a service, that one stays
    unused. Raises StepError.
    """
    there = find_redis_server()
    if there:
        report.unchanged(str(there))
        return
    apt_install("redis-server", place, report, missing="no Redis on PATH", way_round=_WAY_ROUND)
    made = find_redis_server()
    if made is None:
        raise StepError("apt installed Redis, and it is not on PATH", _WAY_ROUND)
    report.end(str(made))
