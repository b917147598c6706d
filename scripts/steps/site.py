"""The built site."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steps.failure import StepError
from steps.node import find_node
from steps.process import CommandError, run
from steps.pyodide_wheels import wheels_folder
from steps.stamp import Stamp, files_under, key_of, key_of_files

if TYPE_CHECKING:
    from pathlib import Path

    from steps.place import Place
    from steps.report import Report

_PREFIX = "site: "


def site_inputs(place: Place) -> list[Path]:
    """Return every file that the built site depends on."""
    root = place.root
    return files_under(
        root / "index.html",
        root / "worker.js",
        root / "service-worker.js",
        root / "page",
        root / "py",
        root / "scripts" / "build_site.py",
        root / "scripts" / "samples.py",
        root / "scripts" / "paint",
        root / "scripts" / "sitebuild",
        root / "scripts" / "runtime",
        root / "requirements.lock",
        root / "package-lock.json",
        wheels_folder(place),
    )


def shape_of(site: Path) -> str:
    """Return the path and the length of every file of a built site, so that damage is seen."""
    return "\n".join(
        f"{path.relative_to(site).as_posix()} {path.stat().st_size}" for path in files_under(site)
    )


def build_site(place: Place, report: Report) -> None:
    """Leave the site in `site/`, built from the sources as they are. Raises StepError."""
    stamp = Stamp(place.cache / "stamps" / "site")
    key = key_of_files(place.root, site_inputs(place))
    if stamp.has(key_of(key, shape_of(place.site))):
        report.unchanged("site/")
        return
    node = find_node(place)
    environment = {"PATH": node.path} if node else {}
    command = [str(place.python), str(place.root / "scripts" / "build_site.py")]
    try:
        lines = run(
            command,
            cwd=place.root,
            environment=environment,
            on_line=lambda line: report.now(line.strip().removeprefix(_PREFIX)),
        )
    except CommandError as error:
        said = [line for line in error.lines if line.strip()]
        cause = said[-1].removeprefix(_PREFIX) if said else "the build said nothing"
        raise StepError(
            cause, "mend what the cause names; .venv/bin/python scripts/build_site.py says more"
        ) from error
    for line in lines:
        if line.startswith(f"{_PREFIX}skipped"):
            report.note(line.removeprefix(_PREFIX))
    stamp.write(key_of(key, shape_of(place.site)))
    report.end("site/")
