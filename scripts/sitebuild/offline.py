"""What the service worker keeps of a build, so that the page works without a network."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

from steps.stamp import files_under

if TYPE_CHECKING:
    from pathlib import Path

PAGES = ("", "en/")


def add_offline_worker(root: Path, site: Path, build_id: str, assets: str) -> None:
    """Put the service worker into the site, and beside it the list of what it keeps at once.

    The list holds the pages and all assets but the samples; those, and Python, are kept at their
    first use. Does nothing if there is no service worker.
    """
    source = root / "service-worker.js"
    if not source.exists():
        return
    shutil.copyfile(source, site / "service-worker.js")
    samples = site / assets / "samples"
    files = [
        path.relative_to(site).as_posix()
        for path in files_under(site / assets)
        if samples not in path.parents
    ]
    listed = {"build": build_id, "pages": PAGES, "files": ["favicon.svg", *files]}
    (site / "offline.json").write_text(json.dumps(listed) + "\n", "utf-8")
