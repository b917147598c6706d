"""Counting a picture as a reader does: choose it, press a button, read the table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Page

Place = Literal["main", "worker"]
COLUMN = {"main": 0, "worker": 1}
BOOT_MS = 60_000
NOTHING = "\N{EN DASH}"
"""What a cell says before anything was measured."""


def choose(page: Page, picture: Path) -> None:
    """Choose a file by the dialog's field, and wait until the page names it."""
    page.set_input_files("#photo-file", picture)
    expect(page.locator("#photo-name")).to_contain_text(picture.name)


def press(page: Page, place: Place) -> None:
    """Press a thread's button in the section, and wait until the run has ended in any way."""
    button = page.locator(f".bench [data-run={place}]")
    button.click()
    expect(button).to_have_attribute("aria-disabled", "false", timeout=BOOT_MS)


def cell(page: Page, row: str, place: Place) -> str:
    """Give what the comparison says in one row about one thread."""
    line = page.locator(f"#comparison-table [data-row={row}] td")
    return line.nth(COLUMN[place]).inner_text()


def value(page: Page, row: str, place: Place) -> float:
    """Give the number behind a cell, in milliseconds or frames."""
    line = page.locator(f"#comparison-table [data-row={row}] td")
    return float(line.nth(COLUMN[place]).get_attribute("data-value") or "nan")
