"""The pool with worker.js: Python that is interrupted, that fails, that dies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.e2e.conftest import Complaints, Serve
from tests.e2e.pool_harness.bench import HARNESS
from tests.e2e.pool_harness.policy import ISOLATION, serve_without

OPEN = """
async (options) => {
  const harness = await import("/harness/harness.js");
  const config = { runtimeURL: `${location.origin}/runtime/probe/` };
  const pool = new harness.TestPool({ url: "/modules/worker.js", config, ...options });
  globalThis.kept = { ...harness, pool };
  await pool.ready;
}
"""
PLAY = """
async (given) => {
  const { pool, outcome, shown } = kept;
  const mark = pool.heard.length;
  const since = (...types) => pool.heard.slice(mark).filter(({ type }) => types.includes(type));
  return await kept.intime([pool], async () => {
%s
  });
}
"""
CLOSE = """
async () => {
  const { pool, checkLedger } = kept;
  pool.destroy();
  await Promise.all(pool.promises);
  checkLedger(pool);
}
"""


@dataclass(frozen=True)
class PythonPool:
    """A page with a pool of Python workers that several tests use."""

    page: Page

    def play(self, body: str, given: Any = None) -> Any:
        """Run JavaScript that sees `pool`; return what it returns.

        `since(type, …)` gives the events of these types since the beginning of this call.
        """
        return self.page.evaluate(PLAY % body, given)


@pytest.fixture(scope="module")
def origin(serve: Serve, modules: Path, probe_runtime: Path) -> str:
    """Where the modules, the harness and the tests' runtime are."""
    return serve({"/modules/": modules, "/harness/": HARNESS, "/runtime/probe/": probe_runtime})


@pytest.fixture(scope="module")
def patient(browser: Browser, origin: str) -> Iterator[PythonPool]:
    """Two workers, which get all the time that they take to stop."""
    page = browser.new_page()
    page.goto(f"{origin}harness/index.html")
    page.evaluate(OPEN, {"size": 2, "graceMs": 60_000})
    yield PythonPool(page)
    page.evaluate(CLOSE)
    page.context.close()


@pytest.fixture(scope="module")
def impatient(browser: Browser, origin: str) -> Iterator[PythonPool]:
    """One worker, which is ended when it does not stop within 200 ms."""
    page = browser.new_page()
    page.goto(f"{origin}harness/index.html")
    page.evaluate(OPEN, {"size": 1, "graceMs": 200})
    yield PythonPool(page)
    page.evaluate(CLOSE)
    page.context.close()


@pytest.fixture(autouse=True)
def _watched(patient: PythonPool, complaints: Complaints) -> Iterator[None]:
    with complaints.of(patient.page.context):
        yield


def test_second_worker_starts_from_what_the_first_one_shared(patient: PythonPool) -> None:
    """Compiled modules and memory are passed on by the pool, which knows nothing of them."""
    assert patient.play("""
        await pool.when("worker-ready", { worker: 2 });
        const ready = pool.heard.filter(({ type }) => type === "worker-ready");
        return ready.map(({ boot }) => boot.path);
    """) == ["snapshot", "shared"]


def test_falsy_results_of_python(patient: PythonPool) -> None:
    """0, False, "", None and NaN are results."""
    assert (
        patient.play("""
        const values = [0, false, "", null, Number.NaN];
        const back = await Promise.all(values.map((value) => pool.run("echo", { value })));
        return back.map((value, index) => Object.is(value, values[index]));
    """)
        == [True] * 5
    )


def test_progress_of_python(patient: PythonPool) -> None:
    """report_progress reaches onProgress, rising from 0 to 1, before the result."""
    values = patient.play("""
        const values = [];
        const onProgress = (value) => values.push(value);
        values.push(await pool.run("spin", { seconds: 0.05 }, { onProgress }));
        return values;
    """)
    *progress, turns = values
    assert progress == sorted(progress)
    assert (progress[0], progress[-1]) == (0, 1)
    assert turns > 0


def test_error_of_python(patient: PythonPool) -> None:
    """Its class, its message, its frames and the errors before it."""
    failed = patient.play("""
        const payload = { message: "as told", kind: "chain" };
        return (await outcome(pool.run("fail", payload))).failed;
    """)
    assert (failed["is"], failed["name"], failed["message"]) == (
        "TaskError",
        "RuntimeError",
        "as told",
    )
    assert "failing.py" in failed["traceback"]
    assert "browser.py" not in failed["traceback"]
    assert failed["cause"]["name"] == "LookupError"
    assert failed["cause"]["cause"]["name"] == "ValueError"


def test_wrong_payload_is_an_error_that_names_the_field(patient: PythonPool) -> None:
    """Checked in Python, before the task runs."""
    failed = patient.play('return (await outcome(pool.run("square", { x: "three" }))).failed;')
    assert failed["name"] == "BadPayloadError"
    assert failed["code"] == "bad-payload"
    assert failed["details"]["field"] == "x"


def test_payload_that_python_has_no_type_for(patient: PythonPool) -> None:
    """A Blob can be cloned, but Python does not know it: an error, and the worker lives."""
    failed, square, gone = patient.play("""
        const { failed } = await outcome(pool.run("echo", { value: new Blob(["x"]) }));
        return [failed, await pool.run("square", { x: 3 }), since("worker-gone").length];
    """)
    assert failed["code"] == "bad-payload"
    assert (square, gone) == (9, 0)


def test_large_array_has_a_buffer_of_its_own(patient: PythonPool) -> None:
    """It is no view of Python's memory, and as long as it should be."""
    assert patient.play("""
        const array = await pool.run("allocate", { megabytes: 16 });
        return [array.constructor.name, array.byteLength, array.buffer.byteLength, array.at(-1)];
    """) == ["Uint8Array", 1 << 24, 1 << 24, 1]


def test_interrupted_loop_leaves_its_worker_sound(patient: PythonPool) -> None:
    """Fifty loops given up at different moments, by abort and by time-out.

    Each time the same worker goes on, and what it does next is not hit by the interrupt.
    """
    seen = patient.play("""
        const squares = [];
        for (let round = 0; round < 50; round += 1) {
          const controller = new AbortController();
          const { signal } = controller;
          const abort = () => controller.abort();
          const spinning = outcome([
            () => pool.run("spin", {}, { signal, onProgress: abort }),
            () => pool.run("spin", {}, { timeout: 1 + (round % 7) }),
            () => {
              const task = pool.run("spin", {}, { signal });
              setTimeout(abort, round % 5);
              return task;
            },
            () => {
              const task = pool.run("spin", {}, { signal });
              abort();
              return task;
            },
          ][round % 4]());
          const next = [pool.run("square", { x: round }), pool.run("square", { x: -round })];
          const { failed } = await spinning;
          squares.push(`${failed.name} ${failed.ended ?? ""}`.trim(), ...await Promise.all(next));
        }
        await Promise.all([1, 2, 3, 4].map((seconds) => pool.run("sleep", { seconds: 0 })));
        return [squares, since("worker-freed").map(({ ended }) => ended),
            since("worker-gone").length];
    """)
    kinds = ("AbortError", "TaskTimeoutError interrupted", "AbortError", "AbortError")
    assert seen[0] == [part for n in range(50) for part in (kinds[n % 4], n * n, n * n)]
    assert set(seen[1]) == {"interrupted"}
    assert len(seen[1]) == 50
    assert seen[2] == 0


def test_waiting_coroutine_is_cancelled(patient: PythonPool) -> None:
    """A sleep of an hour ends at once; its worker takes the next task."""
    assert patient.play("""
        const { failed } = await outcome(pool.run("sleep", { seconds: 3600 }, { timeout: 30 }));
        const controller = new AbortController();
        const { signal } = controller;
        const onProgress = () => controller.abort("enough");
        const aborted = pool.run("sleep", { seconds: 3600 }, { signal, onProgress });
        const reason = await aborted.catch((error) => error);
        const square = await pool.run("square", { x: 3 });
        return [failed.ended, reason, square, since("worker-gone").length];
    """) == ["interrupted", "enough", 9, 0]


def test_call_of_numpy_within_the_grace_period(patient: PythonPool) -> None:
    """No interrupt reaches C code, so the call ends by itself, and then nobody wants its result."""
    ended, sound, gone = patient.play("""
        const { failed } = await outcome(pool.run("grind", { size: 20_000 }, { timeout: 1 }));
        const turns = await Promise.all([1, 2].map(() => pool.run("spin", { seconds: 0.05 })));
        return [failed.ended, turns.every((count) => count > 0), since("worker-gone").length];
    """)
    # Whether Python gets to look for an interrupt behind the call is up to its release.
    assert ended in ("finished", "interrupted")
    assert (sound, gone) == (True, 0)


def test_call_of_numpy_past_the_grace_period(impatient: PythonPool) -> None:
    """The worker is ended in the middle of the call and replaced; the error says so."""
    failed, square, gone, paths = impatient.play("""
        let failed;
        // Before the call begins, an interrupt still ends the task: later and later, then.
        for (let timeout = 100; failed?.ended !== "terminated"; timeout *= 2) {
          ({ failed } = await outcome(pool.run("grind", { size: 1_000_000 }, { timeout })));
        }
        const square = await pool.run("square", { x: 3 });
        const paths = since("worker-ready").map(({ boot }) => boot.path);
        return [failed, square, since("worker-gone").map(({ reason }) => reason), paths];
    """)
    assert (failed["is"], failed["ended"]) == ("TaskTimeoutError", "terminated")
    assert "could not be interrupted, so its worker was ended" in failed["message"]
    assert square == 9
    assert (gone, paths) == (["terminated"], ["shared"])


CRASHES = {
    "error": "This worker was to crash",
    "close": "ended by itself",
    "rejection": "This worker was to crash",
    "fatal": "Python broke",
}


def test_python_that_crashes(impatient: PythonPool) -> None:
    """In four ways: its own task is lost, the next one is done by another worker."""
    seen = impatient.play(
        """
        const seen = [];
        for (const how of given) {
          const { failed } = await outcome(pool.run("crash", { how }));
          seen.push([failed.is, failed.cause.message, await pool.run("square", { x: 3 })]);
        }
        return [seen, since("worker-gone").map(({ reason }) => reason)];
        """,
        list(CRASHES),
    )
    for (kind, message, square), expected in zip(seen[0], CRASHES.values(), strict=True):
        assert kind == "WorkerCrashedError"
        assert expected in message
        assert square == 9
    assert seen[1] == ["crash"] * 4


def test_without_isolation(page: Page, origin: str) -> None:
    """Nothing can interrupt a loop there, so its worker is ended; a coroutine still stops."""
    serve_without(page, *ISOLATION)
    page.goto(f"{origin}harness/index.html")
    page.evaluate(OPEN, {"size": 1, "graceMs": 5_000})
    assert PythonPool(page).play("""
        const slept = await outcome(pool.run("sleep", { seconds: 3600 }, { timeout: 30 }));
        const spun = await outcome(pool.run("spin", {}, { timeout: 30 }));
        return [crossOriginIsolated, slept.failed.ended, spun.failed.ended,
            await pool.run("square", { x: 3 }), since("worker-gone").map(({ reason }) => reason)];
    """) == [False, "interrupted", "terminated", 9, ["terminated"]]
    page.evaluate(CLOSE)
