"""The dashboard in a real browser: accessible, by keyboard, live, in both languages, without JS."""

from __future__ import annotations

import asyncio
import re
import subprocess
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import redis
import uvicorn
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, expect

from server.app import create_app
from server.redisq import NewJob, Queue
from server.settings import Settings
from steps.node import find_node
from steps.place import HERE
from tests.redisq.servers import server as valkey_server
from tests.server.queue_pages import fill

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from pathlib import Path

    from tests.e2e.conftest import Complaints, Site

PATIENCE_MS = 60_000
BASE = "queues/redis/default"
PAGES = (
    "queues",
    BASE,
    f"{BASE}/stuck",
    f"{BASE}/jobs/dead",
    f"{BASE}/job/job-active",
    f"{BASE}/job/job-dead",
    "queues/outbox",
    "queues/enter",
    "queues/nowhere",
)


class Live(NamedTuple):
    """A server: its address, ending in a slash, and its queue's socket."""

    origin: str
    socket: str

    def run(self, act: Callable[[Queue], Coroutine[object, object, object]]) -> None:
        """Do something to the queue, in a loop of its own: Playwright has this thread's."""

        async def there() -> None:
            async with redis.asyncio.Redis(unix_socket_path=self.socket) as client:
                await act(Queue(client, "default"))

        thread = threading.Thread(target=asyncio.run, args=[there()])
        thread.start()
        thread.join()

    def empty(self) -> None:
        """Take everything out, and put one job into each state."""
        with redis.Redis(unix_socket_path=self.socket) as client:
            client.flushall()
        self.run(fill)


@pytest.fixture(scope="module")
def live(
    site: Site, module_database: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Live]:
    """A server in this process with a queue and a database; in lab mode, so nobody signs in."""
    with valkey_server("valkey") as valkey:
        settings = Settings(
            site=site.folder,
            DATABASE_URL=module_database,
            REDIS_URL=f"unix://{valkey.socket}",
            data_dir=tmp_path_factory.mktemp("data"),
            admin_token="s3cret",  # noqa: S106 - only the tests have it
            lab="on",
        )
        app = create_app(settings, module_database)
        # What a page that a failed test left open still listens to is cut off.
        config = uvicorn.Config(
            app, port=0, lifespan="on", log_config=None, timeout_graceful_shutdown=5
        )
        server = uvicorn.Server(config)
        socket = config.bind_socket()
        thread = threading.Thread(target=asyncio.run, args=[server._serve([socket])])  # noqa: SLF001
        thread.start()
        yield Live(f"http://127.0.0.1:{socket.getsockname()[1]}/", valkey.socket)
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module", autouse=True)
def patience() -> Iterator[None]:
    """Wait for what is to be seen for as long as a slow machine may take."""
    expect.set_options(timeout=PATIENCE_MS)
    yield
    expect.set_options(timeout=None)


@contextmanager
def opened(browser: Browser, complaints: Complaints, **how: Any) -> Iterator[Page]:
    """A tab of a browser profile of its own, watched by `complaints`."""
    profile = browser.new_context(**how)
    profile.set_default_timeout(PATIENCE_MS)
    try:
        with complaints.of(profile):
            yield profile.new_page()
    finally:
        profile.close()


@pytest.fixture(scope="module")
def axe() -> Axe:
    """The accessibility checker."""
    return Axe()


@pytest.mark.parametrize(
    ("scheme", "prefix", "width"), [("light", "", 1280), ("dark", "en/", 320)], ids=["de", "en"]
)
@pytest.mark.timeout(300)
@pytest.mark.complaints("404")  # the page that is not there says so
def test_pages_are_accessible(  # noqa: PLR0913, PLR0917 - one page in all its forms
    browser: Browser,
    complaints: Complaints,
    live: Live,
    axe: Axe,
    scheme: str,
    prefix: str,
    width: int,
) -> None:
    """Nothing for axe to find, nothing that runs out of the page, in both themes and languages."""
    live.empty()
    view = {"width": width, "height": 800}
    with opened(browser, complaints, color_scheme=scheme, viewport=view) as page:
        for path in PAGES:
            page.goto(f"{live.origin}{prefix}{path}")
            found = axe.run(page).response["violations"]
            assert found == [], path
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, path
            small = page.evaluate("""() => [...document.querySelectorAll("button, summary, dd a")]
              .map((each) => [each.textContent.trim(), each.getBoundingClientRect()])
              .filter(([, box]) => box.width && (box.width < 24 || box.height < 24))
              .map(([text]) => text)""")
            assert small == [], path


def test_figures_follow_the_queue(page: Page, live: Live) -> None:
    """Without a reload, and without taking away the focus; not while it is paused."""
    live.empty()
    page.goto(f"{live.origin}en/{BASE}")
    ready = page.locator("#figures a[href$='/jobs/ready']")
    expect(ready).to_have_text("1")
    ready.focus()
    live.run(lambda queue: queue.enqueue_many([NewJob(task="mail") for _ in range(1233)]))
    expect(ready).to_have_text("1,234", timeout=PATIENCE_MS)
    expect(ready).to_be_focused()
    page.get_by_role("button", name="Pause live updates").click()
    live.run(lambda queue: queue.enqueue("mail"))
    page.get_by_role("button", name="Resume live updates").click()
    expect(ready).to_have_text("1,235", timeout=PATIENCE_MS)


def test_by_keyboard_alone(page: Page, live: Live) -> None:
    """Past the header, into a list, to a job, and its button: each with a visible focus."""
    live.empty()
    page.goto(f"{live.origin}en/{BASE}/jobs/dead")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    reach(page, page_link := re.compile(r"/job/job-dead$"))
    page.keyboard.press("Enter")
    expect(page).to_have_url(page_link)
    reach(page, re.compile("Run again"))
    page.keyboard.press("Enter")
    expect(page.get_by_text("Run again: done.")).to_be_visible()


def reach(page: Page, wanted: re.Pattern[str]) -> None:
    """Press Tab until the focus is there; everything on the way has a visible one."""
    for _ in range(60):
        page.keyboard.press("Tab")
        name, outlined = page.evaluate("""() => {
          const at = document.activeElement;
          const style = getComputedStyle(at);
          return [at.href ?? at.textContent.trim(),
            style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2];
        }""")
        assert outlined, name
        if wanted.search(name):
            return
    pytest.fail(f"no {wanted.pattern} within 60 steps")


@pytest.mark.parametrize("script", [True, False], ids=["js", "no-js"])
def test_forms_work_with_and_without_javascript(
    browser: Browser,
    complaints: Complaints,
    live: Live,
    script: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """A step over many says how many; a deletion asks first; a reload repeats nothing."""
    live.empty()
    live.run(lambda queue: queue.enqueue_many([NewJob(task="mail") for _ in range(149)]))
    with opened(browser, complaints, java_script_enabled=script) as page:
        page.goto(f"{live.origin}{BASE}/jobs/ready")
        expect(page.get_by_role("button", name="Live anhalten")).to_be_visible(visible=script)
        page.get_by_role("button", name="Abbrechen").click()
        notice = page.locator(".notice")
        expect(notice).to_contain_text("100 gemeint, 100 bewegt. Es gibt noch mehr.")
        page.get_by_role("button", name="Weiter: Abbrechen").click()
        expect(notice).to_contain_text("50 gemeint, 50 bewegt. Das waren alle.")
        page.goto(f"{live.origin}{BASE}/job/job-dead")
        sure = page.get_by_role("button", name="Löschen", exact=True)
        expect(sure).to_be_hidden()
        page.get_by_text("Löschen …").click()
        sure.click()
        expect(notice).to_contain_text("Löschen: erledigt.")
        page.reload()
        expect(page.locator("a.id").first).to_be_visible()


def test_language_and_theme_are_kept(context: BrowserContext, live: Live) -> None:
    """The switch leads to the same page in the other one; a chosen theme holds on the next page."""
    live.empty()
    page = context.new_page()
    page.goto(f"{live.origin}{BASE}/jobs/dead?task=mail")
    page.locator("#language-switch").click()
    expect(page).to_have_url(f"{live.origin}en/{BASE}/jobs/dead?task=mail")
    expect(page.locator("html")).to_have_attribute("lang", "en")
    for theme in ("light", "dark"):
        page.locator("#theme-switch").click()
        expect(page.locator("html")).to_have_attribute("data-theme", theme)
    page.goto(f"{live.origin}queues")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_markup_is_valid(page: Page, live: Live, tmp_path: Path) -> None:
    """By the same rules as the page's own."""
    live.empty()
    files = []
    for number, path in enumerate(PAGES):
        answer = page.request.get(f"{live.origin}{path}")
        file = tmp_path / f"{number}.html"
        file.write_text(answer.text(), "utf-8")
        files.append(str(file))
    node = find_node(HERE)
    assert node is not None
    program = HERE.root / "node_modules" / "html-validate" / "bin" / "html-validate.mjs"
    rules = ["--config", str(HERE.root / ".htmlvalidate.json")]
    told = subprocess.run(
        [str(node.executable), str(program), *rules, *files],
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stdout + told.stderr
