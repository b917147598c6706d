"""The lab of worker B on the page: a reader breaks real workers and sees each goal.

One server and one page for all of it, with time running fast: a lease of 3 s. What a test waits for
is an event that the page tells; where chance decides which worker takes a row, it tries again.
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.e2e.conftest import Complaints
from tests.e2e.live import live_server
from tests.e2e.test_page_reading import found_by_axe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.conftest import Site

PATIENCE_MS = 60_000
SETTINGS = {"WORKERS_LAB_TIME_SCALE": "0.01", "WORKERS_BACKOFF_S": "10,10,10,10"}
QUICK, SLOW = "5", "240"
"""Seconds that a send takes, before they are scaled: 0.05 s and 2.4 s."""

HAS_ENDED = """async (number) => {
  const { workers } = await (await fetch("/api/lab/workers")).json();
  return workers.every(({ id, state }) => id !== number || state === "ended");
}"""


@pytest.fixture(scope="module")
def opened(
    tmp_path_factory: pytest.TempPathFactory, site: Site, browser: Browser
) -> Iterator[Page]:
    """The page of a server without a worker of its own."""
    data = tmp_path_factory.mktemp("lab")
    with live_server(data, site.folder, "--no-worker", **SETTINGS) as origin:
        page = browser.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto(origin)
        page.locator("#worker-b").scroll_into_view_if_needed()
        page.locator("#lab").scroll_into_view_if_needed()
        page.wait_for_selector("#lab[data-listening=true]")
        yield page
        page.context.close()


@pytest.fixture
def lab(opened: Page, complaints: Complaints) -> Iterator[Page]:
    """The same page, watched; afterwards all workers are ended."""
    with complaints.of(opened.context):
        yield opened
        for worker in listed(opened):
            end(worker)


def press(button: Locator) -> None:
    """Press it by keyboard, as whoever has no mouse does, if it is still there."""
    if button.count() > 0 and button.first.is_visible():
        button.first.focus()
        button.first.press("Enter")


def workers(lab: Page) -> Locator:
    """Those that have not ended."""
    return lab.locator("#lab-workers li")


def listed(lab: Page) -> list[Locator]:
    """The same, each by its number: it stays the same when others go."""
    numbers = [worker.get_attribute("data-worker") for worker in workers(lab).all()]
    return [lab.locator(f'#lab-workers li[data-worker="{number}"]') for number in numbers]


def end(worker: Locator) -> None:
    """Kill one, and wait until it is gone."""
    press(worker.locator("[data-lab=kill]"))
    expect(worker).to_have_count(0, timeout=PATIENCE_MS)


def start(lab: Page, count: int) -> list[Locator]:
    """Start workers and wait until they run."""
    for number in range(count):
        press(lab.locator("#lab-start"))
        expect(workers(lab)).to_have_count(number + 1, timeout=PATIENCE_MS)
    for worker in workers(lab).all():
        expect(worker).to_have_attribute("data-state", "running", timeout=PATIENCE_MS)
    return listed(lab)


def set_channel(lab: Page, mood: str, takes: str) -> None:
    """Let the channel behave so, and wait until the server has heard."""
    for selector, value in (("#lab-mood", mood), ("#lab-takes", takes)):
        with lab.expect_response("**/api/lab/channel"):
            lab.locator(selector).select_option(value)
            lab.locator(selector).dispatch_event("change")


def enqueue(lab: Page, count: int) -> None:
    """Put rows in, and wait until the server has them."""
    with lab.expect_response("**/api/lab/deliveries"):
        press(lab.locator(f'[data-lab=enqueue][data-count="{count}"]'))


def goal(lab: Page, name: str) -> Locator:
    """One of the goals."""
    return lab.locator(f"#lab-goals [data-goal={name}]")


def reached(lab: Page, name: str) -> bool:
    """Whether a goal is ticked off."""
    return goal(lab, name).get_attribute("data-reached") == "true"


def soon_reached(lab: Page, name: str) -> None:
    """Give a goal a few seconds; what was done for it may have missed by chance."""
    with contextlib.suppress(AssertionError):
        expect(goal(lab, name)).to_have_attribute("data-reached", "true", timeout=5000)


def found(lab: Page, name: str) -> str:
    """Wait until a goal is ticked off, and give what it was ticked off by."""
    expect(goal(lab, name)).to_have_attribute("data-reached", "true", timeout=PATIENCE_MS)
    return goal(lab, name).locator(".goal-found").inner_text()


def frozen_in_a_send(lab: Page, worker: Locator) -> None:
    """Freeze this worker in the middle of a send, however many rows others take first."""
    press(worker.locator("[data-lab=freeze-sending]"))
    ends = time.monotonic() + PATIENCE_MS / 1000
    while worker.get_attribute("data-state") != "frozen" and time.monotonic() < ends:
        enqueue(lab, 1)
        lab.wait_for_timeout(300)
    expect(worker).to_have_attribute("data-state", "frozen")


def test_two_workers_share_and_no_claim_takes_too_many(lab: Page) -> None:
    """No row goes to two, no claim is above its limit, and the counts add up."""
    set_channel(lab, "well", QUICK)
    start(lab, 2)
    ends = time.monotonic() + PATIENCE_MS / 1000
    enqueued = 0
    while not (reached(lab, "shared") and reached(lab, "batch")) and time.monotonic() < ends:
        enqueue(lab, 25)
        enqueued += 25
        lab.wait_for_function(
            "(count) => document.querySelector('#lab-flow .state-sent .box-count')"
            ".textContent === new Intl.NumberFormat('de').format(count)",
            arg=enqueued,
        )
    assert "2 Worker nahmen" in found(lab, "shared")
    assert "zu je 5 Zeilen" in found(lab, "batch")
    assert lab.locator("#lab-flow .lab-mark-sent").count() > 0
    assert "0 wartend, 0 in Arbeit" in lab.locator("#lab-summary").inner_text()


def test_a_thawed_worker_is_refused_with_both_numbers(lab: Page) -> None:
    """Its row went to the other when its lease had run out; what it then writes does not count."""
    set_channel(lab, "well", SLOW)
    slept, _ = start(lab, 2)
    ends = time.monotonic() + 2 * PATIENCE_MS / 1000
    while not reached(lab, "fence") and time.monotonic() < ends:
        frozen_in_a_send(lab, slept)
        # Its lease has run out, and the other has taken all that it held.
        expect(slept).to_contain_text("Hält 0", timeout=PATIENCE_MS)
        expect(lab.locator("#lab-summary")).to_contain_text("0 wartend", timeout=PATIENCE_MS)
        press(slept.locator("[data-lab=thaw]"))
        expect(slept).to_have_attribute("data-state", "running", timeout=PATIENCE_MS)
        soon_reached(lab, "fence")
    assert "Versuch 1, Zeile" in (words := found(lab, "fence"))
    assert "stand schon bei Versuch 2: abgewiesen" in words
    expect(lab.locator("#lab-log .from-main", has_text="Abgewiesen").first).to_be_attached()
    assert found_by_axe(lab) == ""


def test_the_row_of_a_killed_worker_comes_back(lab: Page) -> None:
    """Frozen first, so that it surely holds a row when it is killed."""
    set_channel(lab, "well", SLOW)
    ends = time.monotonic() + PATIENCE_MS / 1000
    while not reached(lab, "lease") and time.monotonic() < ends:
        [killed] = start(lab, 1)
        frozen_in_a_send(lab, killed)
        end(killed)
        [heir] = start(lab, 1)
        # It was dead before its lease ran out, unless this machine stood still meanwhile.
        lab.wait_for_function(
            "() => document.querySelector('#lab-flow .lane-ended') === null"
            " && document.querySelector('#lab-flow .lane-gone') === null"
        )
        end(heir)
    assert "kam" in found(lab, "lease")


def test_a_poisonous_row_ends_as_dead(lab: Page) -> None:
    """After as many attempts as the server allows."""
    set_channel(lab, "poison", QUICK)
    start(lab, 1)
    enqueue(lab, 1)
    assert "nach 5 Versuchen tot" in found(lab, "poison")
    assert lab.locator("#lab-flow .lab-mark-dead").count() > 0


def test_without_a_worker_a_job_empties_the_queue(lab: Page) -> None:
    """The lab says that it is dormant; the job's process ends when nothing is due any more."""
    set_channel(lab, "well", QUICK)
    expect(workers(lab)).to_have_count(0)
    assert "Kein Worker läuft" in lab.locator("#lab-summary").inner_text()
    enqueue(lab, 25)
    ends = time.monotonic() + PATIENCE_MS / 1000
    while not reached(lab, "dormant") and time.monotonic() < ends:
        # What a killed worker held is due only when its lease has run out.
        with lab.expect_response("**/api/lab/drains") as answer:
            press(lab.locator("[data-lab=drain]"))
        lab.wait_for_function(HAS_ENDED, arg=answer.value.json()["id"])
        expect(workers(lab)).to_have_count(0, timeout=PATIENCE_MS)
        soon_reached(lab, "dormant")
    assert "und endete" in found(lab, "dormant")
    expect(workers(lab)).to_have_count(0, timeout=PATIENCE_MS)


def test_a_paused_channel_waits_and_all_speaks_both_languages(lab: Page) -> None:
    """Pause and resume, in the other language too; the goals stay ticked off."""
    press(lab.locator("#lab-pause"))
    expect(lab.locator("#lab-summary")).to_contain_text("angehalten")
    [seen, *_] = lab.locator("#lab-goals-count").inner_text().split()
    lab.locator("#language-switch").click()
    expect(lab.locator("#lab-summary")).to_contain_text("The channel is paused")
    expect(lab.locator("#lab-pause")).to_have_text("Resume the channel")
    press(lab.locator("#lab-pause"))
    expect(lab.locator("#lab-summary")).not_to_contain_text("paused")
    expect(lab.locator("#lab-goals-count")).to_have_text(f"{seen} of 6")
