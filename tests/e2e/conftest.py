"""A real browser, and static servers for it to look at.

Playwright's loop runs as long as the browser is open, and nothing else that is asynchronous can run
in this process meanwhile; so a browser lives for one test file and not for the whole session.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    WebError,
    expect,
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

PATIENCE_MS = 60_000
"""How long something may take that has to happen, on a machine that may stand still meanwhile."""

Serve = Callable[[dict[str, Path]], str]


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark by which a test says which complaints it provokes."""
    config.addinivalue_line(
        "markers",
        "complaints(*patterns): regular expressions for console errors, warnings and page errors "
        "that this test provokes; any other one fails it",
    )
    expect.set_options(timeout=PATIENCE_MS)


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

    @contextmanager
    def of(self, profile: BrowserContext) -> Iterator[None]:
        """Keep what the pages and workers of a profile say, as long as this lasts."""
        profile.on("console", self.on_console)
        profile.on("weberror", self.on_error)
        yield
        profile.remove_listener("console", self.on_console)
        profile.remove_listener("weberror", self.on_error)

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
    with complaints.of(profile):
        yield profile
    profile.close()


@pytest.fixture
def page(context: BrowserContext) -> Page:
    """An empty tab."""
    return context.new_page()


@pytest.fixture(scope="module")
def warm_profile(browser: Browser) -> Iterator[BrowserContext]:
    """A profile for the tests of a file: what one of them fetched and compiled serves the next.

    Without service workers, which would answer instead of the server from the second visit on.
    """
    profile = browser.new_context(service_workers="block")
    yield profile
    profile.close()


@pytest.fixture
def warm_pages(
    warm_profile: BrowserContext, complaints: Complaints
) -> Iterator[Callable[[], Page]]:
    """Opens empty tabs of that profile; afterwards it remembers nothing that a page has stored."""
    complaints.expected.append("Service Worker registration blocked by Playwright")
    pages = []

    def open_tab() -> Page:
        pages.append(warm_profile.new_page())
        return pages[-1]

    with complaints.of(warm_profile):
        yield open_tab
        for page in pages:
            if page.url.startswith("http"):
                page.evaluate("localStorage.clear(), sessionStorage.clear()")
            page.close()
    warm_profile.clear_cookies()


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
    """A runtime folder whose handlers have the tasks of probe/probe.py besides the real ones.

    It is built once, whichever of the processes of one run comes first.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "probe"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # The manifest is written last.
        if not (folder / "runtime" / "runtime.json").exists():
            build_probe_runtime(folder)
    return folder / "runtime"


def build_probe_runtime(folder: Path) -> None:
    """Build the handlers with the probe, and the runtime from them, below a folder."""
    shutil.copytree(
        ROOT / "py",
        folder / "py",
        ignore=shutil.ignore_patterns("__pycache__"),
        dirs_exist_ok=True,
    )
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


HARNESS = Path(__file__).parent / "boot_harness"


@pytest.fixture(scope="session")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with worker.js and page/ as they are now, whatever is built meanwhile."""
    folder = tmp_path_factory.mktemp("modules")
    shutil.copy(ROOT / "worker.js", folder)
    shutil.copytree(ROOT / "page", folder / "page")
    return folder


@pytest.fixture(scope="session")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for copies of the runtime that a test may damage; `stage` serves it."""
    return tmp_path_factory.mktemp("damaged")


@pytest.fixture(scope="session")
def stage(serve: Serve, modules: Path, probe_runtime: Path, damaged: Path) -> str:
    """Where this repository's modules, the boot's harness and the tests' runtimes are."""
    runtimes = {"/runtime/probe/": probe_runtime, "/runtime/damaged/": damaged}
    return serve({"/modules/": modules, "/harness/": HARNESS, **runtimes})


@pytest.fixture(scope="module")
def boot_tab(browser: Browser) -> Iterator[Page]:
    """One tab for the tests of a file: what one of them fetched and compiled serves the next."""
    profile = browser.new_context()
    yield profile.new_page()
    profile.close()


@pytest.fixture
def boot_bench(
    boot_tab: Page, stage: str, probe_runtime: Path, complaints: Complaints
) -> Iterator[BootBench]:
    """A page with this repository's modules and the tests' runtime, loaded anew."""
    bench = BootBench(boot_tab, stage, "modules/", "runtime/probe/", probe_runtime)
    with complaints.of(boot_tab.context), bench.watched():
        bench.open()
        yield bench


@pytest.fixture
def damaged_bench(boot_bench: BootBench, damaged: Path, tmp_path: Path) -> BootBench:
    """The same with a copy of the runtime that the test may damage.

    Files must be replaced, not written to, for they share their content with the original.
    """
    folder = damaged / tmp_path.name
    shutil.copytree(boot_bench.folder, folder, copy_function=os.link)
    return replace(boot_bench, runtime=f"runtime/damaged/{folder.name}/", folder=folder)


@pytest.fixture(scope="module")
def sharing_stage(browser: Browser, stage: str, probe_runtime: Path) -> Iterator[BootBench]:
    """One page for all tests of a file, in which lies what a worker has shared."""
    bench = BootBench(
        browser.new_page(), stage, "modules/", "runtime/probe/", probe_runtime, "shared"
    )
    bench.open()
    bench.share()
    yield bench
    bench.page.context.close()


@pytest.fixture
def quick_boot(sharing_stage: BootBench, complaints: Complaints) -> Iterator[BootBench]:
    """The same page, from which every boot is quick, and an interpreter of its own."""
    sharing_stage.requests.clear()
    with complaints.of(sharing_stage.page.context), sharing_stage.watched():
        yield sharing_stage


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
    with complaints.of(pool_stage.page.context):
        yield pool_stage
