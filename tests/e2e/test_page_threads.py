"""Worker A: both buttons, the reader's own picture, what is shown of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from tests.corpus import small
from tests.e2e.conftest import Serve, Site
from tests.e2e.photo_run import NOTHING, cell, choose, press, value

NO_BACKEND = r"Failed to load resource.*404.*/api/"
pytestmark = pytest.mark.complaints(NO_BACKEND)
TRIES = 4
"""How often a time is measured anew, since a machine may stand still in the middle of one."""


@pytest.fixture
def page(warm_pages: Callable[[], Page]) -> Page:
    """An empty tab: only the page itself is new, not what it fetches."""
    return warm_pages()


@pytest.fixture
def open_page(page: Page, serve: Serve, site: Site) -> Page:
    """The German page from a static server."""
    page.goto(serve({"/": site.folder}))
    expect(page.locator("#photo-samples img").first).to_be_attached()
    return page


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    """A small PNG."""
    path = tmp_path / "muster.png"
    path.write_bytes(small()["rgb.png"].data)
    return path


def test_nothing_of_python_is_fetched_before_the_first_press(
    page: Page, serve: Serve, site: Site
) -> None:
    """Python costs megabytes, so it waits until somebody wants it."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(serve({"/": site.folder}))
    expect(page.locator("#photo-samples img").first).to_be_visible()
    assert not [url for url in asked if "/runtime/" in url or url.endswith("/worker.js")]
    press(page, "worker")
    assert [url for url in asked if url.endswith("/worker.js")]


def test_both_threads_find_the_same_and_only_one_stops_the_page(open_page: Page) -> None:
    """A sample counted pixel by pixel on both threads: equal numbers, unequal gaps."""
    for place in ("main", "worker"):
        press(open_page, place)
    expect(open_page.locator("#equality")).to_have_attribute("data-equal", "true")
    assert cell(open_page, "digest", "main") == cell(open_page, "digest", "worker") != NOTHING
    for place, holds in (("main", only_its_own_gap), ("worker", shorter_gap_than_the_other)):
        for _ in range(TRIES):
            if holds(open_page):
                break
            press(open_page, place)
        assert holds(open_page), place


def only_its_own_gap(page: Page) -> bool:
    """Whether the page stood still for as long as it counted."""
    return value(page, "gap", "main") > value(page, "total", "main") * 0.9


def shorter_gap_than_the_other(page: Page) -> bool:
    """Whether the page went on while a worker counted."""
    return value(page, "gap", "worker") < value(page, "gap", "main")


def test_both_methods_find_the_same(open_page: Page, picture: Path) -> None:
    """Faster is not elsewhere: the switch changes the time and no number."""
    choose(open_page, picture)
    press(open_page, "worker")
    looped = cell(open_page, "digest", "worker")
    open_page.check("input[value=vectorised]")
    press(open_page, "worker")
    assert cell(open_page, "digest", "worker") == looped


def test_own_photo_by_drop_and_by_paste(open_page: Page) -> None:
    """A picture can be dropped anywhere on the page, or pasted."""
    open_page.evaluate("""() => {
        const data = new DataTransfer();
        data.items.add(new File([new Uint8Array([1, 2, 3])], "dropped.png"));
        document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true}));
    }""")
    expect(open_page.locator("#photo-name")).to_contain_text("dropped.png")
    open_page.evaluate("""() => {
        const data = new DataTransfer();
        data.items.add(new File([new Uint8Array([1, 2, 3])], "pasted.png"));
        document.body.dispatchEvent(
            new ClipboardEvent("paste", {clipboardData: data, bubbles: true}));
    }""")
    expect(open_page.locator("#photo-name")).to_contain_text("pasted.png")


def test_unreadable_picture_says_why_and_the_next_one_is_counted(
    open_page: Page, picture: Path, tmp_path: Path
) -> None:
    """A typed failure becomes a sentence, and the worker answers the next file."""
    broken = tmp_path / "abgebrochen.png"
    broken.write_bytes(picture.read_bytes()[:60])
    choose(open_page, broken)
    press(open_page, "worker")
    status = open_page.locator("#run-status")
    expect(status).to_have_class(re.compile("failed"))
    expect(status).to_contain_text("bricht mitten in der Datei ab")
    choose(open_page, picture)
    press(open_page, "worker")
    expect(status).not_to_have_class(re.compile("failed"))


def test_format_without_a_decoder_here_is_decoded_by_the_browser(
    open_page: Page, tmp_path: Path
) -> None:
    """AVIF: Pillow's build for Pyodide has no decoder, Chromium has one, and the page says so."""
    picture = tmp_path / "bild.avif"
    Image.new("RGB", (32, 16), (200, 30, 60)).save(picture)
    choose(open_page, picture)
    press(open_page, "worker")
    expect(open_page.locator("#image-notes")).to_contain_text(
        "Dieses Bild hat der Browser dekodiert"
    )
    assert cell(open_page, "digest", "worker") != NOTHING


def test_histogram_and_palette_have_tables(open_page: Page, picture: Path) -> None:
    """What a figure shows stands in a table beside it."""
    choose(open_page, picture)
    press(open_page, "worker")
    open_page.locator("#histogram-details summary").click()
    expect(open_page.locator("#histogram-table tbody tr")).to_have_count(256)
    assert open_page.locator("#palette-table tbody tr").count() >= 1
    expect(open_page.locator("#histogram-summary")).to_contain_text("Bildpunkte")


def test_progress_by_bytes_and_stage_while_python_loads(open_page: Page) -> None:
    """Loading takes a while, and says how far it has come."""
    open_page.evaluate("""() => {
        const label = document.querySelector("#boot-label");
        globalThis.said = [];
        new MutationObserver(() => said.push(label.textContent))
            .observe(label, {childList: true, characterData: true, subtree: true});
    }""")
    press(open_page, "worker")
    said = "\n".join(open_page.evaluate("said"))
    assert re.search(r"Web Worker: Python wird geladen, [\d,.]+\sMB von [\d,.]+\sMB", said)
    assert "bereit" in said


def test_press_measures_its_delay(open_page: Page) -> None:
    """The delay of a press is how long the thread was busy with something else."""
    expect(open_page.locator("#reading-delay")).to_have_text(NOTHING)
    open_page.locator("#press").click()
    expect(open_page.locator("#reading-delay")).to_contain_text("ms")


def test_transfer_empties_the_senders_buffer_and_is_cheaper(open_page: Page) -> None:
    """Copied, 64 MB cost more than handed over; afterwards the sender has nothing."""
    open_page.locator("#transfer-run").click()
    row = open_page.locator("#transfer-table [data-size='64'][data-left]")
    row.wait_for(timeout=60_000)
    assert row.get_attribute("data-left") == "0"
    assert float(row.get_attribute("data-copied") or 0) > float(
        row.get_attribute("data-transferred") or "inf"
    )


def test_device_with_little_memory_skips_what_it_cannot_hold(
    page: Page, serve: Serve, site: Site
) -> None:
    """A size that needs too much of the memory is left out, and the table says so."""
    page.add_init_script("Object.defineProperty(Navigator.prototype, 'deviceMemory', {value: 0.5})")
    page.goto(serve({"/": site.folder}))
    page.locator("#transfer-run").click()
    expect(page.locator("#transfer-table [data-size='256'] td").first).to_contain_text(
        "ausgelassen"
    )
