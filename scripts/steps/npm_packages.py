"""The packages that npm delivers: Pyodide, the typefaces and, for checks, the checkers."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from steps import causes
from steps.failure import StepError
from steps.node import find_node
from steps.process import CommandError, run
from steps.stamp import Stamp, key_of

if TYPE_CHECKING:
    from steps.node import Node
    from steps.place import Place
    from steps.report import Report


def install_npm(place: Place, report: Report, *, dev: bool) -> None:
    """Leave the packages of package-lock.json in node_modules, checked by their sums.

    No package's install script runs. Raises StepError.
    """
    files = [place.root / "package.json", place.root / "package-lock.json"]
    # Whoever has run the tests keeps what they need, also when only the page is wanted.
    dev = dev or (place.node_modules / "typescript").exists()
    run_key = key_of("run", *files)
    keys = [run_key, key_of("dev", *files)] if dev else [run_key]
    words = "all packages" if dev else "packages for running"
    # npm deletes node_modules before it starts, and with it the stamp of the last time.
    stamp = Stamp(place.node_modules / ".stamp")
    if stamp.has(keys[-1]):
        report.unchanged(words)
        return
    node = find_node(place)
    if node is None:
        raise StepError("Node is gone since the last step", "run the same command again")
    command = [*node.npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]
    command += ["--no-update-notifier", "--no-progress"]
    command += [] if dev else ["--omit=dev"]
    started = time.time()
    try:
        run(command, cwd=place.root, environment={"PATH": node.path})
    except CommandError as error:
        raise causes.from_output(
            error.lines,
            "connect once; npm keeps what it fetched and needs no network the next time",
        ) from error
    report.downloaded(_fetched_since(started, place, node))
    stamp.write(*keys)
    report.end(words)


def _fetched_since(started: float, place: Place, node: Node) -> int:
    """Return how many bytes npm added to its cache: what it fetched, as it came."""
    where = run(
        [*node.npm, "config", "get", "cache"], cwd=place.root, environment={"PATH": node.path}
    )
    content = Path(where[-1].strip()) / "_cacache" / "content-v2"
    stats = (path.stat() for path in content.rglob("*") if path.is_file())
    return sum(stat.st_size for stat in stats if stat.st_mtime >= started)
