"""The pool in Chromium: pages with other policies than the ones that the tests' server sends."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, Route

from tests.e2e.conftest import Serve
from tests.e2e.pool_harness.bench import HARNESS, PoolBench

ISOLATION = ("cross-origin-opener-policy", "cross-origin-embedder-policy")


def open_without(page: Page, origin: str, *headers: str) -> PoolBench:
    """Open the harness as a server would send it that leaves these headers out."""

    def answer(route: Route) -> None:
        response = route.fetch()
        kept = {name: text for name, text in response.headers.items() if name not in headers}
        route.fulfill(response=response, headers=kept)

    page.route("**/index.html", answer)
    page.goto(f"{origin}harness/index.html")
    return PoolBench(page, origin)


@pytest.fixture
def origin(serve: Serve, modules: Path) -> str:
    """Where the modules and the harness are."""
    return serve({"/modules/": modules, "/harness/": HARNESS})


def test_without_isolation(page: Page, origin: str) -> None:
    """No byte to interrupt by: JavaScript heeds its signal all the same, Python would not."""
    bench = open_without(page, origin, *ISOLATION)
    seen = bench.play("""
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
        const pool = new TestPool({ url, graceMs: Infinity });
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


def test_payload_that_the_worker_cannot_read(pool_bench: PoolBench) -> None:
    """Cloned here, refused there: a certificate exists in pages only. Its task settles."""
    failed, following = pool_bench.play("""
        const pool = new TestPool();
        const algorithm = { name: "ECDSA", namedCurve: "P-256" };
        const certificate = await RTCPeerConnection.generateCertificate(algorithm);
        const { failed } = await outcome(pool.run("echo", { certificate }));
        return [failed, await pool.run("echo", 1)];
    """)
    assert failed["is"] == "WorkerCrashedError"
    assert failed["cause"]["name"] == "DataCloneError"
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
