"""The pooler that the outbox is tested behind."""

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

_WAY_ROUND = "install pgbouncer (Debian: apt install pgbouncer) or run with PGBOUNCER=/path/to/it"


def find_pgbouncer() -> Path | None:
    """Return the pooler to use: the one that PGBOUNCER names, or the one on PATH or in /usr/sbin.

    Raises StepError if PGBOUNCER names nothing that can be started.
    """
    named = os.environ.get("PGBOUNCER")
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin"])
    found = shutil.which(named or "pgbouncer", path=path)
    if named and found is None:
        raise StepError(f"PGBOUNCER={named} can't be started", _WAY_ROUND)
    return Path(found) if found else None


def get_pgbouncer(place: Place, report: Report) -> None:
    """Leave a pgbouncer there: on Debian as root by apt, elsewhere by saying what to do.

    It is started by the tests only; where Debian would start it as a service, that one stays
    unused. Raises StepError.
    """
    there = find_pgbouncer()
    if there:
        report.unchanged(str(there))
        return
    apt_install("pgbouncer", place, report, missing="no pgbouncer on PATH", way_round=_WAY_ROUND)
    made = find_pgbouncer()
    if made is None:
        raise StepError("apt installed pgbouncer, and it is not on PATH", _WAY_ROUND)
    report.end(str(made))
