"""The browser that the tests drive."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from steps import causes
from steps.failure import StepError
from steps.process import CommandError, run

if TYPE_CHECKING:
    from steps.place import Place
    from steps.report import Report

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_WAY_ROUND = "install Chromium (Debian: apt install chromium) or run with CHROMIUM=/path/to/it"
_UNITS = {"B": 1, "kB": 1000, "MB": 1_000_000}


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
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise StepError("no Chromium on PATH", _WAY_ROUND)
    environment = {"DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-y", "--no-install-recommends", "chromium"]
    try:
        run(["apt-get", "update"], cwd=place.root, environment=environment)
        lines = run(install, cwd=place.root, environment=environment)
    except CommandError as error:
        raise causes.from_output(error.lines, _WAY_ROUND) from error
    for line in lines:
        size = re.match(r"Need to get ([\d.,]+) (B|kB|MB)", line)
        if size:
            report.downloaded(round(float(size[1].replace(",", "")) * _UNITS[size[2]]))
    made = find_chromium()
    if made is None:
        raise StepError("apt installed chromium, and it is not on PATH", _WAY_ROUND)
    report.end(str(made))
