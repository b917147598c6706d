"""The folder with Python for the browser, made by scripts/runtime/build.mjs."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from sitebuild.failure import BuildError
from steps.node import find_node
from steps.process import CommandError, run
from steps.pyodide_wheels import wheels_folder
from steps.python_packages import pip_command
from steps.stamp import files_under, key_of, key_of_files

if TYPE_CHECKING:
    from steps.place import Place

# The earliest time that a zip archive can hold: a wheel of the same sources has the same bytes.
_EPOCH = "315532800"


def make_runtime(place: Place) -> Path | None:
    """Return the folder of the runtime for these sources, or None if its build is not there.

    It is made once for each state of its inputs. Raises BuildError.
    """
    script = place.root / "scripts" / "runtime" / "build.mjs"
    if not script.exists():
        return None
    inputs = files_under(
        script.parent,
        place.root / "py" / "handlers",
        place.root / "py" / "pyproject.toml",
        place.pyodide / "package.json",
        place.pyodide / "pyodide-lock.json",
        wheels_folder(place),
    )
    node = find_node(place)
    if node is None:
        raise BuildError("no Node 20 or later; run scripts/setup.py, which gets one")
    # The memory snapshot differs between versions of Node.
    key = key_of(node.version, key_of_files(place.root, inputs))[:16]
    folder = place.cache / "runtime" / key
    if folder.exists():
        return folder
    place.temporary.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.temporary) as name:
        unfinished = Path(name)
        command = [str(node.executable), str(script)]
        command += ["--wheels", str(wheels_folder(place))]
        command += ["--handlers", str(_handlers_wheel(place, unfinished))]
        command += ["--out", str(unfinished / "runtime")]
        (unfinished / "runtime").mkdir()
        try:
            run(command, cwd=place.root, environment={"PATH": node.path})
        except CommandError as error:
            raise BuildError(f"{script.name}: {_last(error.lines)}") from error
        # One runtime at a time is kept: they are large.
        shutil.rmtree(folder.parent, ignore_errors=True)
        folder.parent.mkdir(parents=True)
        (unfinished / "runtime").rename(folder)
    return folder


def _handlers_wheel(place: Place, folder: Path) -> Path:
    command = pip_command(place, "wheel")
    command += ["--no-index", "--no-deps", "--no-build-isolation", "-w", str(folder / "handlers")]
    environment = {"SOURCE_DATE_EPOCH": _EPOCH, "TMPDIR": os.fspath(folder)}
    try:
        run([*command, "./py"], cwd=place.root, environment=environment)
    except CommandError as error:
        raise BuildError(f"the wheel of py/handlers: {_last(error.lines)}") from error
    [wheel] = (folder / "handlers").glob("*.whl")
    return wheel


def _last(lines: list[str]) -> str:
    return next((line for line in reversed(lines) if line.strip()), "it said nothing")
