"""The virtual environment."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import TYPE_CHECKING

from steps import causes
from steps.failure import StepError
from steps.process import CommandError, run
from steps.stamp import Stamp, key_of

if TYPE_CHECKING:
    from pathlib import Path

    from steps.place import Place
    from steps.report import Report


def unfinished(place: Place) -> Path:
    """Return the mark that lies in the environment while packages are being put into it."""
    return place.venv / ".unfinished"


def make_venv(place: Place, report: Report) -> None:
    """Leave a virtual environment of this Python in `.venv`, with pip in it.

    One that was interrupted while packages went into it is made anew: what is half in it can't
    be told. Raises StepError.
    """
    version = ".".join(map(str, sys.version_info[:3]))
    words = f"Python {version}"
    # Inside an active environment, sys.executable is that environment's.
    base = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    key = key_of(version, base, str(place.venv))
    stamp = Stamp(place.venv / ".stamps" / "venv")
    if stamp.has(key) and place.python.exists() and not unfinished(place).exists():
        report.unchanged(words)
        return
    if importlib.util.find_spec("ensurepip") is None:
        raise StepError(
            f"{base} has no module ensurepip, without which there is no virtual environment",
            "Debian or Ubuntu: apt install python3-venv; elsewhere name another Python with"
            " make PYTHON=/path/to/python3",
        )
    try:
        run([base, "-m", "venv", "--clear", str(place.venv)], cwd=place.root)
    except CommandError as error:
        raise causes.from_output(
            error.lines,
            "this step needs no network: name another Python with make PYTHON=/path/to/python3",
        ) from error
    stamp.write(key)
    report.end(words)
