"""The locked Python packages, and the two packages of this repository."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from steps import causes
from steps.process import CommandError, run
from steps.stamp import Stamp, key_of
from steps.venv import unfinished

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from steps.place import Place
    from steps.report import Report

_UNITS = {"bytes": 1, "kB": 1000, "MB": 1_000_000, "GB": 1_000_000_000}
_DOWNLOADING = re.compile(r"Downloading \S+ \(([\d.]+) (bytes|kB|MB|GB)\)")


def pip_command(place: Place, command: str) -> list[str]:
    """Return the start of a pip command that asks nothing and draws nothing."""
    start = [str(place.python), "-m", "pip", "--disable-pip-version-check", "--no-input"]
    return [*start, command]


def bytes_in(line: str) -> int:
    """Return how many bytes a line of pip's says are being downloaded (0 if it says nothing)."""
    found = _DOWNLOADING.search(line)
    return round(float(found[1]) * _UNITS[found[2]]) if found else 0


def counting(report: Report) -> Callable[[str], None]:
    """Return what reads pip's lines for the bytes they tell of."""
    return lambda line: report.downloaded(bytes_in(line))


def install_locked(place: Place, report: Report, *, dev: bool) -> None:
    """Leave the packages of the lock file in the virtual environment, checked by their sums.

    The development lock holds everything that the other holds, at the same versions, so an
    environment made for development is right for running too. Raises StepError.
    """
    run_lock = place.root / "requirements.lock"
    dev_lock = place.root / "requirements-dev.lock"
    lock = dev_lock if dev else run_lock
    words = f"{_count(lock)} packages"
    run_key = key_of("run", run_lock)
    keys = [run_key, key_of("dev", run_lock, dev_lock)] if dev else [run_key]
    stamp = Stamp(place.venv / ".stamps" / "packages")
    if stamp.has(keys[-1]):
        report.unchanged(words)
        return
    stamp.remove()
    unfinished(place).touch()
    command = pip_command(place, "install")
    command += ["--require-hashes", "--only-binary", ":all:", "--progress-bar", "off", "-r"]
    try:
        run([*command, str(lock)], cwd=place.root, on_line=counting(report))
    except CommandError as error:
        # pip leaves what was there before when it fails by itself; only a kill leaves a mess.
        unfinished(place).unlink()
        raise causes.from_output(
            error.lines,
            "connect once, or name a folder with these packages' wheels: PIP_NO_INDEX=1"
            " PIP_FIND_LINKS=/path/to/wheels",
        ) from error
    unfinished(place).unlink()
    stamp.write(*keys)
    report.end(words)


def install_own(place: Place, report: Report) -> None:
    """Leave `server` and `handlers` in the virtual environment, as links to the sources.

    Needs no network: the build backend is among the locked packages. Raises StepError.
    """
    sources = [place.root / "py" / "pyproject.toml", place.root / "pyproject.toml"]
    key = key_of(*sources)
    words = "server, handlers"
    stamp = Stamp(place.venv / ".stamps" / "own")
    if stamp.has(key):
        report.unchanged(words)
        return
    command = pip_command(place, "install")
    command += ["--no-index", "--no-deps", "--no-build-isolation", "-e", "./py", "-e", "."]
    try:
        run(command, cwd=place.root)
    except CommandError as error:
        raise causes.from_output(
            error.lines, "this step needs no network: run make clean, then again"
        ) from error
    stamp.write(key)
    report.end(words)


def _count(lock: Path) -> int:
    """Return how many packages a lock file names."""
    return len(re.findall(r"(?m)^[\w.\[\],-]+==", lock.read_text("utf-8")))
