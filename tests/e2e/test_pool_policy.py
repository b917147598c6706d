"""The pool in Chromium: pages with other policies than the ones that the tests' server sends."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.e2e.conftest import Serve
from tests.e2e.pool_harness.bench import HARNESS, PoolBench
from tests.e2e.pool_harness.policy import ISOLATION, serve_without


@pytest.fixture
def origin(serve: Serve, modules: Path) -> str:
    """Where the modules and the harness are."""
    return serve({"/modules/": modules, "/harness/": HARNESS})


def test_without_isolation(page: Page, origin: str) -> None:
    """No byte to interrupt by: JavaScript heeds its signal all the same, Python would not."""
    serve_without(page, *ISOLATION)
    page.goto(f"{origin}harness/index.html")
    seen = PoolBench(page, origin).play("""
        const configs = [];
        const url = () => {
          const worker = newWorker(TASKS);
          const post = worker.postMessage.bind(worker);
          worker.postMessage = (message, transfer) => {
            if (message.type === "boot") configs.push(Object.keys(message.config));
            post(message, transfer);
          };
          return worker;
        };
        const pool = new TestPool({ url, graceMs: 60_000 });
        await pool.ready;
        const { failed } = await outcome(pool.run("untilGivenUp", 0, { timeout: 1 }));
        return [crossOriginIsolated, configs, failed.ended, await pool.run("echo", 1)];
    """)
    assert seen == [False, [["lifeline"]], "interrupted", 1]


def test_without_web_locks(page: Page, origin: str) -> None:
    """Where a browser has none, as on a page without TLS, the pool does without a lifeline."""
    page.add_init_script("Object.defineProperty(Navigator.prototype, 'locks', {value: undefined})")
    page.goto(f"{origin}harness/index.html")
    assert PoolBench(page, origin).play("""
        const pool = new TestPool();
        const { failed } = await outcome(pool.run("errorLater"));
        return [failed.is, await pool.run("echo", 1)];
    """) == ["WorkerCrashedError", 1]


@pytest.mark.parametrize("where", ["page", "worker", "both"])
def test_where_web_locks_are_refused(page: Page, origin: str, where: str) -> None:
    """A site that may store nothing gets no lock either, and the pool does without a lifeline."""
    page.goto(f"{origin}harness/index.html")
    assert PoolBench(page, origin).play(
        """
        if (given !== "worker") await import("/harness/deny-locks.js");
        const pool = new TestPool(given === "page" ? {} : { url: "/harness/without-locks.js" });
        const { failed } = await outcome(pool.run("errorLater"));
        return [failed.is, await pool.run("echo", 1)];
        """,
        where,
    ) == ["WorkerCrashedError", 1]


def test_payload_that_the_worker_cannot_read(pool_bench: PoolBench) -> None:
    """Cloned here, refused there: a certificate exists in pages only. Its task settles."""
    failed, following = pool_bench.play("""
        const pool = new TestPool();
        const algorithm = { name: "ECDSA", namedCurve: "P-256" };
        const certificate = await RTCPeerConnection.generateCertificate(algorithm);
        const { failed } = await outcome(pool.run("echo", { certificate }));
        return [failed, await pool.run("echo", 1)];
    """)
    assert failed["name"] == "DataCloneError"
    assert following == 1


def test_message_that_the_page_cannot_read(pool_bench: PoolBench) -> None:
    """The event is made by hand: nothing was found that Chromium's worker can send so."""
    failed, following = pool_bench.play("""
        const workers = [];
        const url = () => { workers.push(newWorker(TASKS)); return workers.at(-1); };
        const pool = new TestPool({ url });
        const held = outcome(pool.run("hold", newGate().cell));
        await pool.when("task-started");
        workers[0].dispatchEvent(new MessageEvent("messageerror"));
        const { failed } = await held;
        return [failed, await pool.run("echo", 1)];
    """)
    assert failed["is"] == "WorkerCrashedError"
    assert failed["cause"]["name"] == "DataCloneError"
    assert following == 1
