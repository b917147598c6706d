"""What the repository says about itself is true."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING

import pytest

from steps.place import HERE

if TYPE_CHECKING:
    from pathlib import Path

ROOT = HERE.root
LISTED = re.compile(r"^- `([^`]+)`: .{20,}\.$")


def normal(requirement: str) -> str:
    """Return the name that a requirement names, as the index spells it."""
    return re.split(r"[\[=<>~! ;]", requirement)[0].lower().replace("_", "-")


def locked(name: str) -> dict[str, str]:
    """Return a lock file's versions by package."""
    text = (ROOT / name).read_text("utf-8")
    return dict(re.findall(r"(?m)^([\w.-]+)==([\w.]+)", text))


def listed() -> dict[str, set[str]]:
    """Return the dependencies that docs/dependencies.md gives a reason for, by its headings."""
    found: dict[str, set[str]] = {}
    heading = ""
    for line in (ROOT / "docs" / "dependencies.md").read_text("utf-8").splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
            found[heading] = set()
        elif line.startswith("- "):
            match = LISTED.match(line)
            assert match, f"no reason, or no full stop: {line}"
            found[heading].add(match[1])
    return found


def test_every_dependency_has_its_reason_and_every_reason_its_dependency() -> None:
    """docs/dependencies.md, pyproject.toml, package.json and the small locks name the same."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    package = json.loads((ROOT / "package.json").read_text("utf-8"))
    fetched = [*locked("scripts/locks/node.lock"), *locked("scripts/locks/pyodide-wheels.lock")]
    assert listed() == {
        "Python, to run": {normal(name) for name in project["dependencies"]},
        "Python, to check and test": {
            normal(name) for name in project["optional-dependencies"]["dev"]
        },
        "npm, to run": set(package["dependencies"]),
        "npm, to check": set(package["devDependencies"]),
        "Fetched, not installed": set(fetched),
    }


def test_the_lock_files_agree() -> None:
    """What is checked is what runs: one version of each package, and every dependency locked."""
    run, dev = locked("requirements.lock"), locked("requirements-dev.lock")
    assert run.items() <= dev.items()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert {normal(name) for name in project["dependencies"]} <= run.keys()
    assert {normal(name) for name in project["optional-dependencies"]["dev"]} <= dev.keys()


@pytest.mark.parametrize(
    "name",
    [
        "requirements.lock",
        "requirements-dev.lock",
        "scripts/locks/node.lock",
        "package-lock.json",
        "bench/outbox_peers/requirements.lock",
        "bench/outbox_peers/package-lock.json",
    ],
)
def test_a_lock_file_names_no_registry(name: str) -> None:
    """Where packages come from is the machine's to choose."""
    text = (ROOT / name).read_text("utf-8")
    assert "--index-url" not in text
    assert '"resolved": "http' not in text


def test_make_help_lists_every_target() -> None:
    """Each target has one line of help, and `make` alone shows them all."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    phony = re.search(r"(?m)^\.PHONY: (.+)$", makefile)
    assert phony
    targets = set(re.findall(r"(?m)^([a-z][a-z-]*):", makefile))
    shown = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout  # noqa: S607
    helped = re.findall(r"(?m)^  make ([a-z-]+) +\S", shown)
    assert set(helped) == targets == set(phony[1].split())
    assert len(helped) == len(targets)


@pytest.mark.parametrize(
    ("folder", "allowed"),
    [
        ("server/outbox", {"server", "psycopg", "psycopg_pool"}),
        ("py/handlers", {"handlers", "numpy", "PIL"}),
    ],
)
def test_a_part_that_lifts_out_imports_nothing_else(folder: str, allowed: set[str]) -> None:
    """Beyond the standard library: itself, and the one or two libraries it is for."""
    package = folder.removeprefix("py/").replace("/", ".")
    for path in (ROOT / folder).rglob("*.py"):
        names = imported(path)
        if path.name in {"browser.py", "crash.py"}:  # only a browser's Python imports them
            names -= {"js", "pyodide", "pyodide.ffi"}
        for name in names - {""}:
            top = name.split(".")[0]
            assert top in sys.stdlib_module_names | allowed, (path, name)
            if top in {"server", "handlers"}:
                assert f"{name}.".startswith(f"{package}."), (path, name)


def imported(path: Path) -> set[str]:
    """Return the modules that a file imports by their full names; relative ones are its own."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(node.module or "")
    return names
