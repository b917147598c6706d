"""The pool works where nothing else of this project is."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Page, Request, expect

from tests.e2e.conftest import ROOT, Serve

README = (ROOT / "examples" / "pool" / "README.md").read_text("utf-8")
LISTED = dict(re.findall(r"(?m)^\| `([\w./-]+)` \| `([\w./-]+)` \|$", README))
PATIENCE_MS = 60_000
PRIMES = [9592, 17984, 25997, 33860, 41538, 49098, 56543, 63951, 71274, 78498]
"""Primes below 100,000, 200,000 and so on, as number theory knows them."""


IMPORT = re.compile(r"""^(?:import|export)\b[^;]*?"(\./[\w./-]+)";""", re.MULTILINE)


def test_readme_lists_what_is_imported() -> None:
    """A module that the pool has got since is in the list, too."""
    needed = {
        (Path(place).parent / imported).as_posix()
        for source, place in LISTED.items()
        if source.endswith(".js")
        for imported in IMPORT.findall((ROOT / source).read_text("utf-8"))
    }
    listed = {place for place in LISTED.values() if place.startswith("pool/")}
    assert needed == listed


@pytest.fixture
def alone(tmp_path: Path) -> Path:
    """A folder with the files that the README lists, and no other."""
    for source, place in LISTED.items():
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / source, tmp_path / place)
    return tmp_path


@pytest.mark.parametrize("path", ["/", "/some/where/"])
def test_the_example_runs_alone(page: Page, serve: Serve, alone: Path, path: str) -> None:
    """Copied as the README says, served at any path: results, a crash, and a cancellation."""
    origin = serve({path: alone})
    asked: dict[str, int | None] = {}

    def note(request: Request) -> None:
        response = request.response()
        asked[request.url] = response and response.status

    page.context.on("requestfinished", note)
    page.context.on("requestfailed", note)
    page.goto(origin.rstrip("/") + path)

    page.click("#run")
    items = page.locator("#tasks li")
    expect(page.locator("#tasks li[data-state=done]")).to_have_count(10, timeout=PATIENCE_MS)
    assert items.locator("output").all_inner_texts() == [f"{count:,}" for count in PRIMES]
    expect(page.locator("#workers")).to_contain_text("Done: 10 of 10")

    page.click("#crash")
    expect(items.nth(10)).to_have_attribute("data-state", "failed", timeout=PATIENCE_MS)
    expect(items.nth(10)).to_contain_text("WorkerCrashedError: Worker")

    page.evaluate("for (const id of ['run', 'cancel', 'run']) document.getElementById(id).click()")
    expect(page.locator("#tasks li[data-state=done]")).to_have_count(20, timeout=PATIENCE_MS)
    failed = page.locator("#tasks li[data-state=failed] output").all_inner_texts()
    assert [text.split(":")[0] for text in failed] == ["WorkerCrashedError", *["AbortError"] * 10]

    home = origin.rstrip("/") + path
    files = {url.removeprefix(home) or "index.html": status for url, status in asked.items()}
    loaded = {name for name, status in files.items() if status == 200}
    assert set(files) == loaded
    assert loaded == set(LISTED.values())


def test_the_example_runs_from_the_repository(page: Page, serve: Serve) -> None:
    """The README's other way: the server puts the folders together."""
    assert "/=examples/pool /pool/=page" in README
    page.goto(serve({"/": ROOT / "examples" / "pool", "/pool/": ROOT / "page"}))
    page.click("#run")
    expect(page.locator("#tasks li[data-state=done]")).to_have_count(10, timeout=PATIENCE_MS)
