"""The browser that the tests drive."""

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

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_WAY_ROUND = "install Chromium (Debian: apt install chromium) or run with CHROMIUM=/path/to/it"


def find_chromium() -> Path | None:
    """Return the browser to use: the one that CHROMIUM names, or the first on PATH.

    Raises StepError if CHROMIUM names nothing that can be started.
    """
    named = os.environ.get("CHROMIUM")
    if named:
        found = shutil.which(named)
        if found is None:
            raise StepError(f"CHROMIUM={named} can't be started", _WAY_ROUND)
        return Path(found)
    for name in _NAMES:
        found = shutil.which(name)
        if found:
            return Path(found)
    return None


def get_chromium(place: Place, report: Report) -> None:
    """Leave a Chromium on PATH: on Debian as root by apt, elsewhere by saying what to do.

    Raises StepError.
    """
    there = find_chromium()
    if there:
        report.unchanged(str(there))
        return
    apt_install("chromium", place, report, missing="no Chromium on PATH", way_round=_WAY_ROUND)
    made = find_chromium()
    if made is None:
        raise StepError("apt installed chromium, and it is not on PATH", _WAY_ROUND)
    report.end(str(made))
