"""What a reader meets: languages, themes, keyboard, small screens, accessibility."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.e2e.conftest import Serve, Site
from tests.e2e.photo_run import press

NO_BACKEND = r"Failed to load resource.*404.*/api/"
pytestmark = pytest.mark.complaints(NO_BACKEND)
FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
RING = "document.querySelector('#ring-canvas').toDataURL()"
LANGUAGES = {"de": "", "en": "en/"}

Open = Callable[..., Page]
USUAL: ViewportSize = {"width": 1280, "height": 720}


@pytest.fixture
def open_as(warm_pages: Callable[[], Page], serve: Serve, site: Site) -> Open:
    """Opens the page in a new tab of some size, with what Playwright can emulate of a medium."""

    def open_page(
        language: str = "de",
        size: ViewportSize | None = None,
        **medium: Literal["dark", "light", "reduce"],
    ) -> Page:
        page = warm_pages()
        page.set_viewport_size(size or USUAL)
        page.emulate_media(**medium)
        page.goto(serve({"/": site.folder}) + LANGUAGES[language])
        expect(page.locator("#photo-samples img").first).to_be_attached()
        return page

    return open_page


def found_by_axe(page: Page) -> str:
    """Give what axe complains about, as text; nothing when it finds nothing."""
    found = Axe().run(
        page,
        options={
            "runOnly": ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"],
            # Of what is right it need not tell every element.
            "resultTypes": ["violations"],
        },
    )
    return found.generate_report() if found.violations_count else ""


@pytest.mark.parametrize("language", LANGUAGES)
def test_axe_finds_nothing_at_first(open_as: Open, language: str) -> None:
    """WCAG 2.2 AA as far as a program can tell, in both themes."""
    page = open_as(language, color_scheme="light")
    assert found_by_axe(page) == ""
    page.emulate_media(color_scheme="dark")
    assert found_by_axe(page) == ""


def test_axe_finds_nothing_after_both_runs(open_as: Open) -> None:
    """The same with every figure and table filled, in each theme and each language."""
    page = open_as(color_scheme="light")
    page.check("input[value=vectorised]")
    press(page, "worker")
    press(page, "main")
    page.locator("#histogram-details summary").click()
    for language, theme in (("de", "light"), ("en", "dark")):
        expect(page.locator("html")).to_have_attribute("lang", language)
        page.emulate_media(color_scheme=theme)
        assert found_by_axe(page) == "", (language, theme)
        page.locator("#language-switch").click()


@pytest.mark.parametrize("size", [(390, 844), (1280, 800)])
def test_first_view_holds_indicator_and_button(open_as: Open, size: tuple[int, int]) -> None:
    """The striking thing comes first, on a phone too."""
    width, height = size
    page = open_as(size={"width": width, "height": height})
    for selector in ("#indicator-ring", "#gap-strip", ".stage [data-run=main]"):
        box = page.locator(selector).bounding_box()
        assert box is not None
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= height, selector


def test_no_sideways_scrolling_at_320_pixels(open_as: Open) -> None:
    """The page fits the narrowest phone, after a run as well, in each language."""
    page = open_as(size={"width": 320, "height": 700})
    press(page, "worker")
    for language in ("de", "en"):
        expect(page.locator("html")).to_have_attribute("lang", language)
        assert page.evaluate("document.documentElement.scrollWidth") <= 320
        page.locator("#language-switch").click()


def test_targets_are_large_enough(open_as: Open) -> None:
    """Every control is at least 24 pixels wide and high, or stands in a line of text."""
    page = open_as(size={"width": 390, "height": 844})
    small = page.evaluate("""() =>
      [...document.querySelectorAll("button, select, summary, nav a, .switches a, fieldset label")]
        .filter((element) => element.checkVisibility())
        .map((element) => [element.outerHTML.slice(0, 80), element.getBoundingClientRect()])
        .filter(([, box]) => box.width < 24 || box.height < 24)
        .map(([html]) => html)""")
    assert small == []


def test_language_switch_keeps_place_and_results(open_as: Open) -> None:
    """Nothing is loaded again: the result stays and speaks the other language."""
    page = open_as()
    page.check("input[value=vectorised]")
    press(page, "worker")
    page.locator("#comparison").scroll_into_view_if_needed()
    before = page.evaluate("scrollY")
    page.evaluate("document.querySelector('#language-switch').click()")
    expect(page.locator("html")).to_have_attribute("lang", "en")
    expect(page.locator("#comparison-summary")).to_contain_text("In the worker it took")
    expect(page.locator("#worker-a-title")).to_have_text("Worker A: a second thread")
    assert page.url.endswith("/en/")
    assert abs(page.evaluate("scrollY") - before) < 400
    page.reload()
    expect(page.locator("html")).to_have_attribute("lang", "en")


def test_chosen_language_greets_the_next_visit(open_as: Open) -> None:
    """Who chose English and comes to the German address is led to the English one."""
    page = open_as()
    page.locator("#language-switch").click()
    expect(page.locator("html")).to_have_attribute("lang", "en")
    page.goto(page.url.removesuffix("en/"))
    expect(page.locator("html")).to_have_attribute("lang", "en")


def test_every_sentence_of_a_language_is_on_its_page(open_as: Open) -> None:
    """Switching in place says exactly what the page served in that language says."""
    served = open_as("en")
    switched = open_as("de")
    switched.locator("#language-switch").click()
    expect(switched.locator("html")).to_have_attribute("lang", "en")
    words = (
        """() => [...document.querySelectorAll("[data-t]")].map((element) => element.innerHTML)"""
    )
    assert switched.evaluate(words) == served.evaluate(words)


def test_theme_follows_the_system_until_it_is_chosen(open_as: Open) -> None:
    """Three positions: as the system, light, dark; the choice survives a visit."""
    page = open_as(color_scheme="dark")
    paper = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(paper)
    switch = page.locator("#theme-switch")
    switch.click()
    expect(switch).to_have_text("Hell")
    light = page.evaluate(paper)
    assert light != dark
    page.reload()
    expect(switch).to_have_text("Hell")
    assert page.evaluate(paper) == light
    switch.click()
    expect(switch).to_have_text("Dunkel")
    assert page.evaluate(paper) == dark


def test_everything_works_by_keyboard(open_as: Open) -> None:
    """Tab reaches the skip link first and the button soon; Enter counts; the focus is seen."""
    page = open_as()
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.run") == "worker":
            break
    focused = page.locator(":focus")
    expect(focused).to_have_attribute("data-run", "worker")
    assert focused.evaluate("(element) => getComputedStyle(element).outlineStyle") != "none"
    page.keyboard.press("Enter")
    expect(page.locator("#comparison")).to_be_visible(timeout=60_000)


def test_indicator_can_be_paused(open_as: Open) -> None:
    """What moves for longer than five seconds can be stopped."""
    page = open_as(reduced_motion="reduce")
    expect(page.locator("#ring-value")).to_have_text(re.compile(r"\d"))
    page.locator("#indicator-pause").click()
    expect(page.locator("#indicator-pause")).to_have_attribute("aria-pressed", "true")
    page.evaluate(FRAMES)
    before = page.evaluate(RING)
    page.evaluate(FRAMES)
    assert page.evaluate(RING) == before
    page.locator("#indicator-pause").click()
    page.wait_for_function("(before) => before !== " + RING, arg=before)


def test_indicator_off_screen_stands_still(open_as: Open) -> None:
    """A figure that nobody sees runs no animation."""
    page = open_as(size={"width": 1280, "height": 600})
    page.locator("#glossary").scroll_into_view_if_needed()
    expect(page.locator("#indicator-ring")).not_to_be_in_viewport()
    page.evaluate(FRAMES)
    before = page.evaluate(RING)
    page.evaluate(FRAMES)
    assert page.evaluate(RING) == before


def test_first_view_weighs_less_than_150_kilobytes(
    browser: Browser, serve: Serve, site: Site
) -> None:
    """Everything that the first view needs, compressed as it travels."""
    page = browser.new_page(viewport={"width": 1280, "height": 800}, service_workers="block")
    client = page.context.new_cdp_session(page)
    client.send("Network.enable")
    weights: dict[str, float] = {}
    urls: dict[str, str] = {}
    client.on(
        "Network.requestWillBeSent",
        lambda event: urls.update({event["requestId"]: event["request"]["url"]}),
    )
    client.on(
        "Network.loadingFinished",
        lambda event: weights.update({event["requestId"]: event["encodedDataLength"]}),
    )
    page.goto(serve({"/": site.folder}))
    expect(page.locator("#queue-absent")).to_be_visible()
    expect(page.locator("#photo-samples img").first).to_be_attached()
    page.evaluate("document.fonts.ready.then(() => true)")
    loaded = {urls[key]: weight for key, weight in weights.items() if "/api/" not in urls[key]}
    below_the_fold = {url for url in loaded if "/samples/" in url}
    total = sum(weight for url, weight in loaded.items() if url not in below_the_fold)
    page.close()
    assert 20_000 < total < 150_000, loaded
