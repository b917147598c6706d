"""Resolve the lock files anew: `.venv/bin/python scripts/lock.py` (or `make lock`).

requirements-dev.lock first holds everything, at one version each; requirements.lock is then
resolved under it as constraint, so the two can't disagree. Versions that are locked stay unless
pyproject.toml no longer allows them or `--upgrade` is given. The lock files name packages,
versions and sums, and no registry: that is the machine's to choose.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from steps.place import HERE

_HEADER = "# Made by scripts/lock.py (make lock) from {source}. Don't edit.\n"


class Lock(NamedTuple):
    """A lock file, what it is made from, and what is asked for beyond that."""

    path: Path
    source: Path
    options: tuple[str, ...] = ()


def locks(root: Path) -> list[Lock]:
    """Return the lock files in the order in which they must be made."""
    project = root / "pyproject.toml"
    dev = root / "requirements-dev.lock"
    node = root / "scripts" / "locks"
    return [
        Lock(dev, project, ("--extra", "dev")),
        Lock(root / "requirements.lock", project, ("--constraints", str(dev))),
        Lock(node / "node.lock", node / "node.in"),
    ]


def make(lock: Lock, root: Path, *, upgrade: bool) -> None:
    """Write one lock file, whole or not at all. Raises CalledProcessError if uv can't resolve."""
    uv = HERE.venv / "bin" / "uv"
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / lock.path.name
        if lock.path.exists() and not upgrade:
            shutil.copyfile(lock.path, target)
        command = [str(uv), "pip", "compile", "--quiet", "--universal", "--generate-hashes"]
        command += ["--python-version", "3.11", "--no-emit-index-url", "--no-header"]
        command += ["--no-annotate", *lock.options, "--output-file", str(target)]
        if upgrade:
            command.append("--upgrade")
        subprocess.run([*command, str(lock.source)], cwd=root, check=True)
        source = lock.source.relative_to(root).as_posix()
        lock.path.write_text(_HEADER.format(source=source) + target.read_text("utf-8"), "utf-8")
        print(f"{lock.path.relative_to(root)}: {count(lock.path)} packages")


def count(path: Path) -> int:
    """Return how many packages a lock file names."""
    return len(re.findall(r"(?m)^[\w.\[\],-]+==", path.read_text("utf-8")))


def main() -> int:
    """Make every lock file and return the exit status."""
    parser = argparse.ArgumentParser(description="Resolve the lock files anew.")
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions allowed")
    upgrade: bool = parser.parse_args().upgrade
    try:
        for lock in locks(HERE.root):
            make(lock, HERE.root, upgrade=upgrade)
    except subprocess.CalledProcessError as error:
        return error.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
