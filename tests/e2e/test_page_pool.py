"""The pool's section: a reader fills it, breaks it, and sees every promise settle."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Serve, Site
from tests.e2e.test_page_reading import found_by_axe

pytestmark = pytest.mark.complaints(
    r"Failed to load resource.*404.*/api/",
    # The interpreter that the reader breaks says so itself.
    r"fatal error|Maximum call stack|Stack trace|Pyodide has suffered",
)
BOOT_MS = 60_000
TRIES = 4
PLACES_IN_THE_QUEUE = 100
BEYOND = 20


@pytest.fixture
def page(warm_pages: Callable[[], Page]) -> Page:
    """An empty tab: only the page itself is new, not what it fetches."""
    return warm_pages()


@pytest.fixture
def open_page(page: Page, serve: Serve, site: Site) -> Page:
    """The German page at the pool's section, with two workers chosen."""
    page.goto(serve({"/": site.folder}))
    page.locator("#pool").scroll_into_view_if_needed()
    expect(page.locator("#pool-summary")).to_contain_text("Noch kein Pool")
    page.select_option("#pool-size", "2")
    return page


def press(page: Page, action: str, count: int | None = None) -> None:
    """Press one of the section's buttons."""
    of_count = "" if count is None else f"[data-count='{count}']"
    page.click(f"[data-pool={action}]{of_count}")


def press_at_once(page: Page, *actions: str) -> None:
    """Press buttons in one turn of the page, so that no task can end in between."""
    page.evaluate(
        "selectors => selectors.forEach(one => document.querySelector(one).click())",
        [f"[data-pool={action}]" for action in actions],
    )


def outcome(page: Page, name: str, count: int | re.Pattern[str]) -> None:
    """Wait until so many tasks have ended in a way."""
    cell = page.locator(f"#pool-outcomes [data-outcome={name}] td")
    wanted = count if isinstance(count, re.Pattern) else str(count)
    expect(cell).to_have_attribute("data-value", wanted, timeout=BOOT_MS)


def balanced(page: Page, sent: int) -> None:
    """Wait until everything is settled, and the ledger agrees with the pool."""
    ledger = page.locator("#pool-ledger")
    expect(ledger).to_have_attribute("data-settled", str(sent), timeout=BOOT_MS)
    expect(ledger).to_have_attribute("data-sent", str(sent))
    expect(ledger).to_have_attribute("data-open", "0")
    expect(ledger).to_have_attribute("data-equal", "true")


def state(page: Page, words: str, count: int) -> None:
    """Wait until so many workers are in a state."""
    cells = page.locator("#pool-workers tbody td:first-of-type", has_text=words)
    expect(cells).to_have_count(count, timeout=BOOT_MS)


def counted(page: Page, place: str, holds: Callable[[float, float], bool]) -> tuple[float, float]:
    """Have the set of pictures counted there, and give how long it took and the longest gap.

    Again if that does not hold, since the machine itself may stand still in the middle of it.
    """
    row = page.locator(f"#pool-photos [data-place={place}]")
    button = page.locator(f"[data-pool=photos][data-place={place}]")
    for _ in range(TRIES):
        row.evaluate("e => { delete e.dataset.total; }")
        button.click()
        expect(row).to_have_attribute("data-total", re.compile(r"\d"))
        expect(button).to_have_attribute("aria-disabled", "false")
        numbers = row.evaluate("e => ({...e.dataset})")
        total, gap = float(numbers["total"]), float(numbers["gap"])
        if holds(total, gap):
            break
    return total, gap


def test_whatever_the_reader_breaks_every_promise_settles_once(open_page: Page) -> None:
    """Tasks done, failed, crashed, cancelled, refused, destroyed: sent is always settled."""
    page = open_page
    press(page, "send", 10)
    outcome(page, "done", 10)
    state(page, "frei", 2)
    page.select_option("#pool-task", "fail")
    press(page, "send", 1)
    outcome(page, "failed", 1)
    balanced(page, 11)

    for number in (1, 2, 3, 4):  # an error, a silent end, a rejection, a broken interpreter
        press(page, "crash")
        outcome(page, "crashed", number)
        state(page, "frei", 2)
    balanced(page, 15)

    page.select_option("#pool-task", "spin")
    press_at_once(page, "fill", "cancel")
    outcome(page, "refused", BEYOND)
    outcome(page, "aborted", PLACES_IN_THE_QUEUE + 2)
    expect(page.locator("#pool-log")).to_contain_text("unterbrochen")
    state(page, "frei", 2)
    balanced(page, 15 + PLACES_IN_THE_QUEUE + 2 + BEYOND)

    press_at_once(page, "send][data-count='10'", "destroy")
    outcome(page, "closed", 10)
    state(page, "noch nicht gestartet", 2)
    balanced(page, 147)

    page.select_option("#pool-task", "square")
    press(page, "send", 1)
    outcome(page, "done", 11)
    balanced(page, 148)


def test_what_cannot_be_interrupted_is_terminated_and_said_so(open_page: Page) -> None:
    """A long call of NumPy does not hear the cancellation; its worker is replaced."""
    page = open_page
    page.select_option("#pool-size", "1")
    page.select_option("#pool-task", "grind")
    press(page, "send", 1)
    state(page, "arbeitet: grind", 1)
    press(page, "cancel")
    outcome(page, "aborted", 1)
    expect(page.locator("#pool-log")).to_contain_text("wurde beendet", timeout=BOOT_MS)
    state(page, "frei", 1)
    balanced(page, 1)


def test_size_photos_price_and_both_languages(open_page: Page) -> None:
    """More or fewer workers, a set of pictures in three places, what it cost, and axe."""
    page = open_page
    total, gap = counted(page, "main", lambda total, gap: gap > 0.9 * total)
    assert gap > 0.9 * total
    for place in ("worker", "pool"):
        assert counted(page, place, lambda _, own: own < gap)[1] < gap
    expect(page.locator("#pool-price")).to_contain_text(re.compile(r"kostete.*MB"))

    page.select_option("#pool-size", "1")
    state(page, "frei", 1)
    expect(page.locator("#pool-workers tbody tr")).to_have_count(1)
    expect(page.locator("#pool-log")).to_contain_text("nicht mehr gebraucht")

    page.locator("#pool .constants summary").click()
    expect(page.locator("#pool-constants")).to_contain_text("100")
    for language, theme, words in (("de", "light", "Bereit"), ("en", "dark", "Ready")):
        expect(page.locator("html")).to_have_attribute("lang", language)
        expect(page.locator("#pool-summary")).to_contain_text(words)
        page.emulate_media(color_scheme=theme)
        assert found_by_axe(page) == "", (language, theme)
        page.locator("#language-switch").click()


@pytest.mark.complaints(r"Failed to load resource")
def test_a_pool_that_cannot_start_says_why(
    page: Page, serve: Serve, site: Site, tmp_path: Path
) -> None:
    """Without the runtime's files everything sent settles, and a sentence names the reason."""
    without = tmp_path / "site"
    shutil.copytree(site.folder, without, copy_function=os.link)
    shutil.rmtree(without / site.runtime)
    page.goto(serve({"/": without}))
    page.locator("#pool").scroll_into_view_if_needed()
    press(page, "send", 10)
    outcome(page, "closed", 10)
    balanced(page, 10)
    expect(page.locator("#pool-status")).to_contain_text("runtime.json could not be loaded: 404")
