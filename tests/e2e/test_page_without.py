"""The page where something is missing: scripts, a server, WebAssembly, the network."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.chromium import CHROMIUM, FLAGS
from tests.e2e.conftest import Complaints, Serve, Site
from tests.e2e.photo_run import NOTHING, cell, press

if TYPE_CHECKING:
    from collections.abc import Iterator

NO_BACKEND = r"Failed to load resource.*404.*/api/"
VISITS = 5


def test_without_javascript_everything_can_be_read(
    browser: Browser, serve: Serve, site: Site
) -> None:
    """Prose, terms and notices are there; what needs a script is not shown."""
    page = browser.new_page(java_script_enabled=False)
    page.goto(serve({"/": site.folder}))
    for heading in page.locator("h1, h2").all():
        assert heading.is_visible()
    assert page.locator("noscript .notice").first.is_visible()
    assert page.locator("#glossary dd").last.is_visible()
    assert not page.locator("[data-run]").first.is_visible()
    page.locator("#language-switch").click()
    expect(page.locator("html")).to_have_attribute("lang", "en")
    page.close()


@pytest.mark.complaints(NO_BACKEND)
def test_without_a_server_the_queue_section_says_so_within_three_seconds(
    page: Page, serve: Serve, site: Site
) -> None:
    """A static host has no queue; the section explains what it would show.

    A machine may stand still for longer than that, but not at each of several visits.
    """
    for visit in range(VISITS):
        page.goto(serve({"/": site.folder}))
        try:
            expect(page.locator("#queue-absent")).to_be_visible(timeout=3000)
            break
        except AssertionError:
            assert visit < VISITS - 1
    expect(page.locator("#queue-mode")).to_have_text("Kein Server: diese Seite steht allein.")
    expect(page.locator("#queue-live")).to_be_hidden()


@pytest.mark.complaints(NO_BACKEND)
def test_below_a_sub_path(page: Page, serve: Serve, site: Site) -> None:
    """Every address on the page is relative, so it works at any path."""
    page.goto(serve({"/some/where/": site.folder}) + "some/where/en/")
    expect(page.locator("#photo-samples img").first).to_be_visible()
    press(page, "worker")
    assert cell(page, "digest", "worker") != NOTHING


@pytest.fixture
def without_webassembly(browser: Browser) -> Iterator[Browser]:
    """Chromium with WebAssembly switched off, as its mode without a compiler has it."""
    chromium = browser.browser_type.launch(
        executable_path=CHROMIUM, args=[*FLAGS, "--js-flags=--jitless"]
    )
    yield chromium
    chromium.close()


def test_without_webassembly_a_sentence_says_so(
    without_webassembly: Browser, serve: Serve, site: Site
) -> None:
    """The page names what is missing, and throws nothing."""
    complaints = Complaints([NO_BACKEND])
    page = without_webassembly.new_page()
    page.on("console", complaints.on_console)
    page.on("pageerror", lambda error: complaints.seen.append(str(error)))
    page.goto(serve({"/": site.folder}))
    expect(page.locator("#missing")).to_contain_text("WebAssembly")
    expect(page.locator("[data-run=main]").first).to_be_disabled()
    assert complaints.unexpected() == []


@pytest.mark.complaints(NO_BACKEND)
def test_without_module_workers_a_sentence_says_so(page: Page, serve: Serve, site: Site) -> None:
    """A browser that ignores the type of a worker is told apart by never reading it."""
    page.add_init_script(
        "window.Worker = class { terminate() {} constructor(url) { this.url = url; } };"
    )
    page.goto(serve({"/": site.folder}))
    expect(page.locator("#missing")).to_contain_text("Worker aus Modulen")


@pytest.mark.complaints(NO_BACKEND, "net::ERR_INTERNET_DISCONNECTED")
def test_after_the_first_visit_it_works_offline(page: Page, serve: Serve, site: Site) -> None:
    """Page and Python come from what the service worker kept, in both languages, isolated."""
    page.goto(serve({"/": site.folder}))
    page.evaluate("navigator.serviceWorker.ready.then(() => true)")
    # What was fetched before the service worker was in charge is fetched anew, and kept.
    page.reload()
    press(page, "worker")
    page.context.set_offline(True)
    page.goto(page.url + "en/")
    expect(page.locator("h1")).to_contain_text("Three things")
    press(page, "worker")
    assert cell(page, "digest", "worker") != NOTHING
    assert page.evaluate("crossOriginIsolated") is True
