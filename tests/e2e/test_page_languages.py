"""Switching the language leaves nothing of the other one, whatever stands on the page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.corpus import small
from tests.e2e.conftest import Site
from tests.e2e.live import live_server
from tests.e2e.photo_run import BOOT_MS, choose, press

WORDS = """() => {
  const said = ["aria-label", "alt", "title", "content"];
  const texts = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT);
  const found = [];
  while (texts.nextNode()) {
    if (!texts.currentNode.parentElement.closest("script, style, noscript")) {
      found.push(texts.currentNode.data);
    }
  }
  const attributes = [...document.querySelectorAll("*")].flatMap((element) =>
    said.map((name) => element.getAttribute(name) ?? ""));
  return [found.join(" "), ...attributes].join(" \\u2021 ");
}"""
"""All that the page says, seen or not, with a space wherever an element begins or ends."""

LITTLE_MEMORY = "Object.defineProperty(Navigator.prototype, 'deviceMemory', {value: 0.01})"

SUMMARY = {"de": "Im Worker", "en": "In the worker"}

LETTERS = 4
"""Shorter pieces between two blanks prove nothing."""


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory, site: Site) -> Iterator[str]:
    """The address of a server with its own database and one worker."""
    with live_server(tmp_path_factory.mktemp("live"), site.folder) as origin:
        yield origin


def plain(words: str) -> str:
    """Give words without markup, as WORDS gives them."""
    without = re.sub(r"<[^>]*>", " ", words)
    for entity, letter in (("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"')):
        without = without.replace(entity, letter)
    return re.sub(r"\s+", " ", without).strip()


def words_of(site: Site) -> dict[str, dict[str, str]]:
    """Give every sentence of page and scripts by language and key."""
    folder = site.folder / site.assets / "text"
    return {
        language: {
            key: plain(words)
            for name in (f"{language}-page", language, f"{language}-later")
            for key, words in json.loads((folder / f"{name}.json").read_text("utf-8")).items()
        }
        for language in ("de", "en")
    }


def left_over(said: str, words: dict[str, dict[str, str]], gone: str, here: str) -> set[str]:
    """Give what is said of the language that is gone, and that nothing says in the one here."""
    said = plain(said)
    everything_here = " ‡ ".join(words[here].values())
    found = set()
    for key, sentence in words[gone].items():
        if sentence == words[here][key]:
            continue
        for piece in re.split(r"\{\w+\}", sentence):
            pattern = re.compile(rf"(?<!\w){re.escape(piece.strip())}(?!\w)")
            telling = len(re.findall(r"[^\W\d_]", piece)) >= LETTERS
            if telling and pattern.search(said) and not pattern.search(everything_here):
                found.add(f"{key}: {piece}")
    return found


@pytest.mark.complaints("fatal error", "Maximum call stack", "Stack trace", "This worker was to")
def test_no_section_keeps_a_word_of_the_other_language(
    page: Page, live: str, site: Site, tmp_path: Path
) -> None:
    """Runs, failures, logs, figures, tables, states: all of it is said again."""
    page.add_init_script(
        "Object.defineProperty(Navigator.prototype, 'deviceMemory', {value: 0.01})"
    )
    page.goto(live)
    broken = tmp_path / "broken.png"
    broken.write_bytes(small()["rgb.png"].data[:60])
    fill_worker_a(page, broken)
    fill_pool(page)
    page.locator("#transfer-run").click()
    expect(page.locator("#transfer-table [data-size='256'] td").first).to_contain_text("Speicher")
    page.locator("[data-enqueue='1']").click()
    expect(page.locator("#enqueue-status")).to_contain_text("eingelegt")
    expect(page.locator("#queue-constants dd").first).to_be_attached()

    words = words_of(site)
    for gone, here in (("de", "en"), ("en", "de")):
        assert left_over(page.evaluate(WORDS), words, here, gone) == set()
        page.locator("#language-switch").click()
        expect(page.locator("html")).to_have_attribute("lang", here)
        # The figures' own modules answer a moment later.
        expect(page.locator("#comparison-summary")).to_contain_text(SUMMARY[here])
        assert left_over(page.evaluate(WORDS), words, gone, here) == set()


def fill_worker_a(page: Page, broken: Path) -> None:
    """Have a picture counted, and one that cannot be."""
    page.check("input[value=vectorised]")
    press(page, "worker")
    choose(page, broken)
    press(page, "worker")
    expect(page.locator("#run-status")).to_have_class(re.compile("failed"))


def fill_pool(page: Page) -> None:
    """Have a worker come, be interrupted, die and be replaced, and the pictures counted."""
    page.locator("#pool").scroll_into_view_if_needed()
    page.select_option("#pool-size", "1")
    page.select_option("#pool-task", "spin")
    page.click("[data-pool=photos][data-place=pool]")
    row = page.locator("#pool-photos [data-place=pool]")
    expect(row).to_have_attribute("data-total", re.compile(r"\d"), timeout=BOOT_MS)
    page.click("[data-pool=send][data-count='10']")
    expect(page.locator("#pool-workers tbody")).to_contain_text("arbeitet: spin", timeout=BOOT_MS)
    page.click("[data-pool=cancel]")
    log = page.locator("#pool-log")
    # Which of both it is depends on how busy this machine is.
    expect(log).to_contain_text(re.compile("unterbrochen|wurde beendet"), timeout=BOOT_MS)
    page.click("[data-pool=crash]")
    crashed = page.locator("#pool-outcomes [data-outcome=crashed] td")
    expect(crashed).to_have_attribute("data-value", "1", timeout=BOOT_MS)
    expect(log.locator("li").first).to_contain_text("bereit", timeout=BOOT_MS)
