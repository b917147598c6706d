"""The browser that everything about the pool is measured in."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.chromium import CHROMIUM, FLAGS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from playwright.sync_api import Page, Playwright

CALL = "([name, given]) => import('./measure.js').then((module) => module[name](given))"


@contextmanager
def chromium(playwright: Playwright, origin: str, flags: Sequence[str] = ()) -> Iterator[Page]:
    """Give a page of a browser that is there for as long as needed."""
    browser = playwright.chromium.launch(
        executable_path=CHROMIUM, headless=True, args=[*FLAGS, *flags]
    )
    page = browser.new_page()
    page.goto(origin)
    yield page
    browser.close()


def call(page: Page, function: str, given: Any) -> Any:
    """Run one function of measure.js."""
    return page.evaluate(CALL, [function, given])
