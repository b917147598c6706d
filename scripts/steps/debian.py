"""Packages of Debian, for what no registry has."""

from __future__ import annotations

import os
import re
import shutil
from typing import TYPE_CHECKING

from steps import causes
from steps.failure import StepError
from steps.process import CommandError, run

if TYPE_CHECKING:
    from steps.place import Place
    from steps.report import Report

_UNITS = {"B": 1, "kB": 1000, "MB": 1_000_000}


def apt_install(
    package: str, place: Place, report: Report, *, missing: str, way_round: str
) -> None:
    """Install a package by apt, as root on Debian.

    Raises StepError: `missing` where apt may not be used, apt's own reason where it fails.
    """
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise StepError(missing, way_round)
    environment = {"DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-y", "--no-install-recommends", package]
    try:
        run(["apt-get", "update"], cwd=place.root, environment=environment)
        lines = run(install, cwd=place.root, environment=environment)
    except CommandError as error:
        raise causes.from_output(error.lines, way_round) from error
    for line in lines:
        size = re.match(r"Need to get ([\d.,]+) (B|kB|MB)", line)
        if size:
            report.downloaded(round(float(size[1].replace(",", "")) * _UNITS[size[2]]))
