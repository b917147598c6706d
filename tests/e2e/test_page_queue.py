"""Worker B on the page: the depth that is shown is the depth that is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.e2e.live import live_server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.conftest import Site

STATES = ("pending", "due", "scheduled", "retrying", "processing", "sent", "failed", "dead")


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory, site: Site) -> Iterator[str]:
    """The address of a server with its own database and one worker."""
    with live_server(tmp_path_factory.mktemp("live"), site.folder) as origin:
        yield origin


def flat(depth: dict[str, object]) -> dict[str, object]:
    """Bring the API's answer into the shape of the page's table."""
    pending = depth["pending"]
    assert isinstance(pending, dict)
    return {
        "pending": pending["total"],
        **{name: pending[name] for name in ("due", "scheduled", "retrying")},
        **{name: depth[name] for name in ("processing", "sent", "failed", "dead")},
    }


def test_page_shows_every_answer_while_a_thousand_deliveries_drain(page: Page, live: str) -> None:
    """Each answer of the API that the page got stands in its table, number for number."""
    page.add_init_script("""
      const real = window.fetch;
      window.answers = [];
      let latest;
      const keep = () => latest && window.answers.push([latest, Object.fromEntries(
        [...document.querySelectorAll("#queue-table [data-state]")].map((row) =>
          [row.dataset.state, Number(row.querySelector("td").dataset.value)]))]);
      window.fetch = async (...given) => {
        const about = String(given[0]).endsWith("/queue/depth");
        // What an answer left in the table is seen when the next one is asked for.
        if (about) keep();
        const response = await real(...given);
        if (about && response.status === 200) latest = await response.clone().json();
        return response;
      };
    """)
    page.goto(live)
    expect(page.locator("#queue-mode")).to_have_attribute("data-mode", "running")
    page.locator("[data-enqueue='1000']").click()
    expect(page.locator("#enqueue-status")).to_contain_text("eingelegt")
    sent = page.locator("#queue-table [data-state=sent] td").first
    expect(sent).to_have_attribute("data-value", "1000", timeout=60_000)
    page.wait_for_function("() => answers.at(-1)?.[0].sent === 1000")
    answers = page.evaluate("answers")
    assert len(answers) >= 3
    for depth, shown in answers:
        assert flat(depth) == shown
        assert shown["pending"] + shown["processing"] + shown["sent"] in (0, 1000)


def test_constants_come_from_the_server(page: Page, live: str) -> None:
    """Batch, attempts, backoff and lease are what the server works with."""
    policy = httpx.get(f"{live}api/queue/policy", timeout=60).json()
    page.goto(live)
    page.locator("#queue-live .constants summary").click()
    shown = page.locator("#queue-constants").inner_text()
    assert str(policy["batch"]) in shown
    assert "30\u202fs → 2\u202fmin → 8\u202fmin → 32\u202fmin" in shown


@pytest.mark.complaints(r"ERR_CONNECTION_REFUSED", r"ERR_CONNECTION_RESET", r"ERR_EMPTY_RESPONSE")
def test_page_notices_a_server_that_goes(page: Page, tmp_path: Path, site: Site) -> None:
    """When the server stops answering, the section says so instead of showing old numbers.

    It has no lab, and the page says that too, without asking for one.
    """
    with live_server(tmp_path, site.folder, "--no-worker", WORKERS_LAB="off") as origin:
        page.goto(origin)
        expect(page.locator("#queue-mode")).to_have_attribute("data-mode", "dormant")
        page.locator("#worker-b").scroll_into_view_if_needed()
        expect(page.locator("#lab-absent")).to_be_visible()
        expect(page.locator("#lab")).to_be_hidden()
    expect(page.locator("#queue-absent")).to_be_visible(timeout=10_000)


def test_hidden_tab_asks_less_often_and_a_lost_server_is_asked_ever_more_seldom(
    page: Page, live: str, site: Site
) -> None:
    """The pauses between questions, from the page's own rule."""
    page.goto(live)
    pauses = page.evaluate(
        """async (assets) => {
          const { nextPause } = await import(`/${assets}page/poller.js`);
          const pause = (hidden, failures, random) => nextPause({hidden, failures, random});
          return {
            calm: pause(false, 0, 0.5), hidden: pause(true, 0, 0.5),
            lost: [1, 2, 3, 4, 5, 6, 20].map((failures) => pause(false, failures, 1)),
            jitter: [0, 1].map((random) => pause(false, 4, random)),
          };
        }""",
        site.assets,
    )
    assert pauses["hidden"] >= 10 * pauses["calm"]
    assert pauses["lost"] == sorted(pauses["lost"])
    assert pauses["lost"][-1] <= 60_000
    assert pauses["jitter"][0] < pauses["jitter"][1]


def test_questions_never_stack(page: Page, live: str) -> None:
    """A slow server is not asked again before it has answered."""
    page.add_init_script("""
      const real = window.fetch;
      window.open = 0; window.most = 0; window.asked = 0;
      window.fetch = async (...given) => {
        if (!String(given[0]).includes("/queue/")) return real(...given);
        window.asked += 1; window.open += 1;
        window.most = Math.max(window.most, window.open);
        try {
          await new Promise((resolve) => setTimeout(resolve, 400));
          return await real(...given);
        } finally { window.open -= 1; }
      };
    """)
    page.goto(live)
    page.evaluate("""() => { for (let i = 0; i < 20; i += 1)
        document.dispatchEvent(new Event("visibilitychange")); }""")
    page.wait_for_function("() => asked >= 4")
    assert page.evaluate("most") == 1
