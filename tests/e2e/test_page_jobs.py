"""Jobs on the page: what is held while they sleep is what the server measures, and one is woken.

One server with one worker beside it, and one page, for all of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import Complaints
from tests.e2e.live import live_server
from tests.e2e.test_page_reading import found_by_axe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.conftest import Site

PATIENCE_MS = 60_000


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory, site: Site) -> Iterator[str]:
    """Where a server listens that has its own database and one worker."""
    with live_server(tmp_path_factory.mktemp("jobs"), site.folder) as address:
        yield address


@pytest.fixture
def jobs(browser: Browser, origin: str, complaints: Complaints) -> Iterator[Page]:
    """The page at its jobs."""
    page = browser.new_page()
    page.set_default_timeout(PATIENCE_MS)
    with complaints.of(page.context):
        page.goto(origin)
        # What stands above it grows when it comes near, and pushes it away again.
        page.wait_for_function("""() => {
          document.getElementById("jobs-cost").scrollIntoView();
          return document.querySelectorAll("#jobs-table tr[data-job]").length === 5;
        }""")
        yield page
    page.context.close()


def test_a_job_is_woken_comes_into_being_and_is_gone(jobs: Page, origin: str) -> None:
    """Before and after there is no process of it; the worker has one all the time."""
    cost = jobs.locator("#jobs-cost")
    expect(cost).to_have_attribute("data-jobs", "0")
    expect(cost).to_have_attribute("data-workers", "1", timeout=PATIENCE_MS)
    row = jobs.locator("#jobs-table tr[data-job=verify-depth]")
    wake = row.locator("[data-act=wake]")
    wake.focus()
    wake.press("Enter")
    expect(row).to_have_attribute("data-outcome", "succeeded", timeout=PATIENCE_MS)
    expect(cost).to_have_attribute("data-jobs", "0", timeout=PATIENCE_MS)
    run = jobs.locator("#jobs-runs [data-outcome=succeeded]")
    expect(run).to_have_count(1, timeout=PATIENCE_MS)
    [told] = httpx.get(f"{origin}api/jobs").json()["jobs"][-1:]
    assert (told["name"], told["last_run"]["outcome"]) == ("verify-depth", "succeeded")
    expect(run).to_have_attribute("data-run", str(told["last_run"]["run"]))
    expect(run).to_contain_text("Klick")
    jobs.locator("#language-switch").click()
    expect(run).to_contain_text("click")
    expect(jobs.locator("#jobs-summary")).to_contain_text("No job is running")
    jobs.emulate_media(color_scheme="dark")
    jobs.set_viewport_size({"width": 320, "height": 640})
    assert found_by_axe(jobs) == ""
    assert jobs.evaluate("document.documentElement.scrollWidth") <= 320
