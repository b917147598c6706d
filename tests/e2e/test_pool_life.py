"""The pool in Chromium: pages that are hidden, frozen, left and come back to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.chromium import CHROMIUM, FLAGS
from tests.e2e.conftest import Serve
from tests.e2e.pool_harness.bench import HARNESS
from tests.e2e.pool_harness.tab import Tab

LIMIT_MS = 3000
"""Time that a task has. The page stands still for longer, and it must not count."""

BEGIN = """
async ([stop, limit]) => {
  const { TestPool, newGate } = await import("/harness/harness.js");
  const pool = new TestPool({ size: 2, taskTimeout: limit, graceMs: 1 });
  await pool.when("worker-ready", { worker: 2 });
  const gate = newGate();
  globalThis.kept = { pool, gate, resumed: false, persisted: null };
  const come = { freeze: "resume", pagehide: "pageshow" }[stop];
  // The pool began to listen earlier, so its task starts when the page stands still already.
  const target = stop === "freeze" ? document : window;
  target.addEventListener(stop, () => {
    kept.tasks = [
      pool.run("hold", gate.cell, { timeout: limit }),
      pool.run("block", gate.cell),
      pool.run("echo", "waiting", { timeout: limit }),
    ];
  }, { once: true });
  target.addEventListener(come, ({ persisted }) => {
    kept.persisted = persisted ?? null;
    // Timers that are due fire before this one.
    setTimeout(gate.open);
  }, { once: true });
}
"""
HIDDEN = """
(async () => {
  const { TestPool, newGate, outcome } = await import("/harness/harness.js");
  const pool = new TestPool({ graceMs: 1 });
  await pool.ready;
  const results = [await pool.run("echo", 1)];
  const { failed } = await outcome(pool.run("block", newGate().cell, { timeout: 1 }));
  results.push(`${failed.is} ${failed.ended}`, await pool.run("echo", 2));
  await pool.close();
  return results;
})()
"""
END = """
async () => {
  const { pool, tasks, persisted } = kept;
  const results = await Promise.all(tasks);
  const again = await pool.run("echo", "again");
  const { counts } = pool.stats;
  await pool.close();
  return { results, again, counts, persisted };
}
"""
WAIT = "(ms) => new Promise((resolve) => setTimeout(resolve, ms))"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium that keeps pages in its back/forward cache, which Playwright turns off."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=FLAGS,
            ignore_default_args=["--disable-back-forward-cache"],
        )
        yield chromium
        chromium.close()


def check_untouched(seen: dict[str, Any]) -> None:
    """Every task was done, by the workers that began it."""
    assert seen["results"] == ["held", "blocked", "waiting"]
    assert seen["again"] == "again"
    assert seen["counts"]["done"] == 4
    assert (seen["counts"]["started"], seen["counts"]["lost"]) == (2, 0)


@pytest.fixture
def address(serve: Serve, modules: Path) -> str:
    """The harness page, where the other files' pages are too."""
    return serve({"/modules/": modules, "/harness/": HARNESS}) + "harness/index.html"


@pytest.fixture
def tab(browser: Browser, address: str) -> Iterator[Tab]:
    """A tab that can be hidden."""
    opened = Tab(browser, address)
    yield opened
    opened.close()


def test_hidden(tab: Tab) -> None:
    """A page in the background gets its results, and its time limits hold."""
    tab.hide()
    assert tab.evaluate(HIDDEN) == [1, "TaskTimeoutError terminated", 2]


def test_frozen_and_resumed(tab: Tab) -> None:
    """A page that stood still for longer than its tasks may take loses none of them."""
    tab.evaluate(f"({BEGIN})(['freeze', {LIMIT_MS}])")
    tab.hide()
    tab.freeze()
    tab.pass_time(LIMIT_MS * 1.2)
    tab.resume()
    check_untouched(tab.evaluate(f"({END})()"))


def test_restored_from_the_back_forward_cache(page: Page, address: str) -> None:
    """The pool keeps no page out of the cache, and goes on with its workers and tasks."""
    page.goto(address)
    page.evaluate(BEGIN, ["pagehide", LIMIT_MS])
    page.goto(f"{address}?other")
    page.evaluate(WAIT, LIMIT_MS * 1.2)
    page.go_back(wait_until="commit")
    seen = page.evaluate(END)
    assert seen["persisted"] is True
    check_untouched(seen)
