"""A real browser, and static servers for it to look at.

Playwright's loop runs as long as the browser is open, and nothing else that is asynchronous can run
in this process meanwhile; so a browser lives for one test file and not for the whole session.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    WebError,
    sync_playwright,
)

from steps.node import find_node
from steps.place import HERE
from steps.pyodide_wheels import wheels_folder
from tests.chromium import CHROMIUM, FLAGS
from tests.e2e.boot_bench import BootBench
from tests.e2e.pool_harness.bench import HARNESS as POOL_HARNESS
from tests.e2e.pool_harness.bench import PoolBench

ROOT = Path(__file__).parent.parent.parent

Serve = Callable[[dict[str, Path]], str]


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark by which a test says which complaints it provokes."""
    config.addinivalue_line(
        "markers",
        "complaints(*patterns): regular expressions for console errors, warnings and page errors "
        "that this test provokes; any other one fails it",
    )


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, for the tests of one file."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@dataclass
class Complaints:
    """What the browser complained about, and what of it was expected."""

    expected: list[str]
    seen: list[str] = field(default_factory=list)

    def on_console(self, message: ConsoleMessage) -> None:
        """Keep errors and warnings."""
        if message.type in ("error", "warning"):
            self.seen.append(f"{message.type}: {message.text} {message.location.get('url', '')}")

    def on_error(self, error: WebError) -> None:
        """Keep what no page caught."""
        self.seen.append(f"page error: {error.error}")

    def unexpected(self) -> list[str]:
        """Give the complaints that no pattern matches."""
        return [
            text
            for text in self.seen
            if not any(re.search(pattern, text) for pattern in self.expected)
        ]


@pytest.fixture
def complaints(request: pytest.FixtureRequest) -> Iterator[Complaints]:
    """Fails the test if a page or a worker complained about something that it did not expect."""
    marks = request.node.iter_markers("complaints")
    kept = Complaints([pattern for mark in marks for pattern in mark.args])
    yield kept
    assert kept.unexpected() == []


@pytest.fixture
def context(browser: Browser, complaints: Complaints) -> Iterator[BrowserContext]:
    """A browser profile without history, watched by `complaints`."""
    profile = browser.new_context()
    profile.on("console", complaints.on_console)
    profile.on("weberror", complaints.on_error)
    yield profile
    profile.close()


@pytest.fixture
def page(context: BrowserContext) -> Page:
    """An empty tab."""
    return context.new_page()


@pytest.fixture(scope="session")
def serve() -> Iterator[Serve]:
    """Starts a static server for folders, each under the path it is given; returns its origin.

    The same folders are served by the same server.
    """
    running: list[subprocess.Popen[str]] = []
    origins: dict[tuple[tuple[str, Path], ...], str] = {}

    def start(mounts: dict[str, Path]) -> str:
        wanted = tuple(sorted(mounts.items()))
        if wanted not in origins:
            origins[wanted] = launch(mounts)
        return origins[wanted]

    def launch(mounts: dict[str, Path]) -> str:
        server = subprocess.Popen(
            [
                sys.executable,
                str(ROOT / "scripts" / "static_server.py"),
                *(f"{prefix}={folder}" for prefix, folder in mounts.items()),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        running.append(server)
        assert server.stdout is not None
        return server.stdout.readline().strip()

    yield start
    for server in running:
        server.terminate()
    for server in running:
        server.wait()
        assert server.stdout is not None
        server.stdout.close()


@dataclass(frozen=True)
class Site:
    """The built site: its folder, and the versioned folders in it, relative and ending in /."""

    folder: Path
    assets: str
    runtime: str


@pytest.fixture(scope="session")
def site() -> Site:
    """The site as `make site` left it."""
    folder = ROOT / "site"
    assert (folder / "site.json").exists(), "there is no site/: run `make site` first"
    paths = json.loads((folder / "site.json").read_text("utf-8"))
    return Site(folder, paths["assets"], paths["runtime"])


@pytest.fixture(scope="session")
def probe_runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A runtime folder whose handlers have the tasks of probe/probe.py besides the real ones."""
    folder = tmp_path_factory.mktemp("probe")
    shutil.copytree(ROOT / "py", folder / "py", ignore=shutil.ignore_patterns("__pycache__"))
    handlers = folder / "py" / "handlers"
    shutil.copy(Path(__file__).parent / "probe" / "probe.py", handlers)
    with (handlers / "__init__.py").open("a") as module:
        module.write("from handlers import probe as _probe\n")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=folder / "py",
        check=True,
        capture_output=True,
    )
    [wheel] = folder.glob("*.whl")
    node = find_node(HERE)
    assert node is not None
    build = [str(node.executable), str(ROOT / "scripts" / "runtime" / "build.mjs")]
    build += ["--wheels", str(wheels_folder(HERE)), "--handlers", str(wheel)]
    subprocess.run(
        [*build, "--out", str(folder / "runtime")], cwd=ROOT, check=True, capture_output=True
    )
    return folder / "runtime"


HARNESS = Path(__file__).parent / "boot_harness"


@pytest.fixture(scope="session")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with worker.js and page/ as they are now, whatever is built meanwhile."""
    folder = tmp_path_factory.mktemp("modules")
    shutil.copy(ROOT / "worker.js", folder)
    shutil.copytree(ROOT / "page", folder / "page")
    return folder


@pytest.fixture
def boot_bench(page: Page, serve: Serve, modules: Path, probe_runtime: Path) -> BootBench:
    """A page with this repository's modules and the tests' runtime."""
    mounts = {"/modules/": modules, "/harness/": HARNESS, "/runtime/probe/": probe_runtime}
    return BootBench(page, serve(mounts), "modules/", "runtime/probe/", probe_runtime)


@pytest.fixture
def damaged_bench(
    page: Page, serve: Serve, modules: Path, probe_runtime: Path, tmp_path: Path
) -> BootBench:
    """The same with a copy of the runtime that the test may damage.

    Files must be replaced, not written to, for they share their content with the original.
    """
    folder = tmp_path / "runtime"
    shutil.copytree(probe_runtime, folder, copy_function=os.link)
    mounts = {"/modules/": modules, "/harness/": HARNESS, "/runtime/damaged/": folder}
    return BootBench(page, serve(mounts), "modules/", "runtime/damaged/", folder)


@pytest.fixture(scope="module")
def pool_stage(browser: Browser, serve: Serve, modules: Path) -> Iterator[PoolBench]:
    """One page with this repository's modules, for all tests of a file."""
    stage = PoolBench(browser.new_page(), serve({"/modules/": modules, "/harness/": POOL_HARNESS}))
    stage.page.goto(f"{stage.origin}harness/index.html")
    yield stage
    stage.page.close()


@pytest.fixture
def pool_bench(pool_stage: PoolBench, complaints: Complaints) -> Iterator[PoolBench]:
    """The same page, watched by this test's `complaints`."""
    profile = pool_stage.page.context
    profile.on("console", complaints.on_console)
    profile.on("weberror", complaints.on_error)
    yield pool_stage
    profile.remove_listener("console", complaints.on_console)
    profile.remove_listener("weberror", complaints.on_error)
