"""Serve the site beside the plain side, and visit it with one browser profile after another."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.chromium import CHROMIUM, FLAGS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Playwright

ROOT = Path(__file__).parent.parent.parent


@contextmanager
def serving(site: Path, data: Path) -> Iterator[dict[str, str]]:
    """Serve the built site, these pages, and `data` under bench/data/; yield the addresses.

    They are `page` (an empty one), `assets` and `runtimeURL` of the site, `lockFileURL` for the
    plain side, and `data`.
    """
    folders = json.loads((site / "site.json").read_text())
    server = subprocess.Popen(
        [
            sys.executable,
            str(ROOT / "scripts" / "static_server.py"),
            f"/={site}",
            f"/bench/={Path(__file__).parent}",
            f"/bench/data/={data}",
            f"/bench/pyodide/={ROOT / 'node_modules' / 'pyodide'}",
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        origin = (server.stdout.readline() if server.stdout else "").strip()
        yield {
            "page": f"{origin}bench/index.html",
            "assets": f"{origin}{folders['assets']}",
            "runtimeURL": f"{origin}{folders['runtime']}",
            "lockFileURL": f"{origin}bench/pyodide/pyodide-lock.json",
            "data": f"{origin}bench/data/",
        }
    finally:
        server.terminate()
        server.wait()


@contextmanager
def new_profile() -> Iterator[str]:
    """Yield the folder of a profile that never saw the site, and delete it in the end."""
    profile = tempfile.mkdtemp(prefix="boot-profile-")
    try:
        yield profile
    finally:
        shutil.rmtree(profile, ignore_errors=True)


@contextmanager
def visit(
    playwright: Playwright, profile: str, where: dict[str, str], script: str
) -> Iterator[Any]:
    """Run a script in the page, in a new browser process, which ends with the context."""
    context = playwright.chromium.launch_persistent_context(
        profile, executable_path=CHROMIUM, headless=True, args=FLAGS
    )
    try:
        page = context.new_page()
        page.goto(where["page"])
        yield page.evaluate(script, where)
    finally:
        context.close()
