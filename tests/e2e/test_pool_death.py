"""The pool in Chromium: workers that die, speak badly, or never get ready."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.pool_harness.bench import PoolBench

NOT_FOUND = r"Failed to load resource.*404"
READY = {"type": "ready", "tasks": ["go"]}

DEATHS = {
    "errorLater": "thrown by a timer",
    "rejectLater": "nobody handles this",
    "close": "ended by itself",
}


@pytest.mark.parametrize("task", DEATHS)
def test_death_takes_its_own_task_only(pool_bench: PoolBench, task: str) -> None:
    """An uncaught error, an unhandled rejection and close(): one task lost, one worker replaced."""
    failed, following, told, counts, errors = pool_bench.play(
        """
        const errors = [];
        const note = ({ message }) => errors.push(message);
        addEventListener("error", note);
        const pool = new TestPool();
        await pool.ready;
        const [first, second] = [outcome(pool.run(given)), pool.run("echo", "second")];
        const { failed } = await first;
        const following = await second;
        removeEventListener("error", note);
        const told = pool.told("worker-gone", "task-settled");
        return [failed, following, told, pool.stats.counts, errors];
        """,
        task,
    )
    assert failed["is"] == "WorkerCrashedError"
    assert (failed["worker"], failed["task"]) == (1, task)
    assert DEATHS[task] in failed["cause"]["message"]
    assert following == "second"
    assert told == [
        f"task-settled 1 {task} crashed",
        "worker-gone 1 crash",
        "task-settled 2 echo done",
    ]
    assert (counts["started"], counts["lost"]) == (2, 1)
    assert errors == []


def test_last_words_are_heard_or_the_task_has_crashed(pool_bench: PoolBench) -> None:
    """A worker that closes and answers in one breath settles its task once, and is replaced."""
    first, following, lost = pool_bench.play("""
        const pool = new TestPool();
        const first = await outcome(pool.run("closeAndAnswer"));
        await pool.when("worker-gone", { worker: 1 });
        return [first.done ?? first.failed.name, await pool.run("echo", 1), pool.stats.counts.lost];
    """)
    assert first in ("last words", "WorkerCrashedError")
    assert (following, lost) == (1, 1)


def test_idle_worker_that_dies_is_replaced(pool_bench: PoolBench) -> None:
    """Between two tasks nobody is hurt."""
    assert pool_bench.play("""
        const pool = new TestPool();
        await pool.run("errorWhenIdle");
        await pool.when("worker-ready", { worker: 2 });
        return [await pool.run("echo", 1), pool.stats.counts.crashed, pool.stats.counts.lost];
    """) == [1, 0, 1]


def test_silent_death_without_a_lifeline_ends_by_the_time_limit(pool_bench: PoolBench) -> None:
    """A worker that holds no lock closes unnoticed; taskTimeout is what its task has then."""
    failed, replaced = pool_bench.play(
        """
        const pool = new TestPool({ url: RAW, config: given, taskTimeout: 1, graceMs: 1 });
        const { failed } = await outcome(pool.run("go"));
        await pool.when("worker-ready", { worker: 2 });
        return [failed, pool.told("worker-gone")];
        """,
        {"boot": [READY], "run": ["close"]},
    )
    assert failed["is"] == "TaskTimeoutError"
    assert (failed["limit"], failed["ended"]) == ("taskTimeout", "terminated")
    assert replaced == ["worker-gone 1 terminated"]


def test_death_between_ready_and_the_first_task(pool_bench: PoolBench) -> None:
    """Workers that are only just ready before they die are given up after three."""
    failed, gone, started = pool_bench.play(
        """
        const pool = new TestPool({ url: RAW, config: given });
        await pool.ready;
        await pool.when("pool-closed");
        return [(await outcome(pool.run("go"))).failed, pool.told("worker-gone"),
            pool.stats.counts.started];
        """,
        {"boot": [READY, "throw"]},
    )
    assert failed["is"] == "BootError"
    assert "thrown by hand" in failed["message"]
    assert gone == ["worker-gone 1 crash", "worker-gone 2 crash", "worker-gone 3 crash"]
    assert started == 3


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "missing": ({"url": "/harness/there-is-none.js"}, "the server answers 404"),
    "syntax": ({"url": "/harness/broken-syntax.js"}, "broken-syntax.js is there but did not run"),
    "throws": ({"url": "/harness/broken-throw.js"}, "thrown at load"),
    "rejects": ({"url": "/harness/broken-await.js"}, "rejected at load"),
    "import": ({"url": "/harness/broken-import.js"}, "broken-import.js is there but did not run"),
    "policy": ({"url": "data:text/javascript,postMessage(1)"}, ""),
    "html": ({"url": "/harness/index.html"}, "it is text/html, not JavaScript"),
    "config": ({"unclonable": True}, "could not be cloned"),
    "silent": (
        {"url": "/harness/raw.js", "bootTimeout": 1},
        "not ready within 1 ms",
    ),
    "boot-failed": (
        {
            "url": "/harness/raw.js",
            "config": {
                "boot": [
                    {
                        "type": "boot-failed",
                        "error": {"name": "OSError", "message": "no disk", "traceback": ""},
                    }
                ]
            },
        },
        "no disk",
    ),
}


@pytest.mark.complaints(NOT_FOUND, r"Content Security Policy", r"MIME type|module script")
@pytest.mark.parametrize("kind", BROKEN)
def test_boot_that_never_works_ends_in_one_error_for_everyone(
    pool_bench: PoolBench, kind: str
) -> None:
    """Three attempts, then `ready` and every task reject alike, and no worker starts any more."""
    options, reason = BROKEN[kind]
    seen = pool_bench.play(
        """
        const { unclonable, ...options } = given;
        if (unclonable) options.config = { call() {} };
        const pool = new TestPool({ size: 2, ...options });
        const waiting = [pool.run("echo", 1), pool.run("echo", 2)].map(outcome);
        const ready = await outcome(pool.ready);
        const settled = await Promise.all(waiting);
        const late = await outcome(pool.run("echo", 3));
        await pool.close();
        await turn();
        return {
          errors: [ready, ...settled, late].map(({ failed }) => failed),
          started: pool.stats.counts.started,
          spawned: spawned.length,
          phase: pool.stats.phase,
        };
        """,
        options,
    )
    for error in seen["errors"]:
        assert (error["is"], error["attempts"]) == ("BootError", 3)
        assert reason in error["message"]
    assert seen["started"] == seen["spawned"] == 3
    assert seen["phase"] == "closed"


def test_nobody_looks_at_ready(pool_bench: PoolBench) -> None:
    """A failed boot is no unhandled rejection of the page."""
    assert pool_bench.play("""
        const unhandled = [];
        const note = (event) => { unhandled.push(event.reason.name); event.preventDefault(); };
        addEventListener("unhandledrejection", note);
        const pool = new WorkerPool({ url: "/harness/broken-throw.js", size: 1, bootPause: 1 });
        await outcome(pool.run("echo", 1));
        Promise.reject(new RangeError("the listener works"));
        while (unhandled.length === 0) await turn();
        removeEventListener("unhandledrejection", note);
        return unhandled;
    """) == ["RangeError"]


@pytest.mark.complaints(NOT_FOUND)
def test_third_try(pool_bench: PoolBench) -> None:
    """A script that is there at last: the tasks that waited are done."""
    assert pool_bench.play("""
        let tries = 0;
        const url = () => newWorker(++tries < 3 ? "/harness/there-is-none.js" : TASKS);
        const pool = new TestPool({ url });
        const waited = pool.run("echo", "waited");
        await pool.ready;
        return [await waited, tries, pool.told("worker-gone", "worker-ready")];
    """) == ["waited", 3, ["worker-gone 1 boot", "worker-gone 2 boot", "worker-ready 3"]]


def test_function_as_url_that_throws(pool_bench: PoolBench) -> None:
    """What it throws is the reason of the failed boot; a worker of any kind is welcome."""
    failed, classic = pool_bench.play("""
        const broken = new TestPool({ url() { throw new RangeError("no more workers"); } });
        const { failed } = await outcome(broken.ready);
        const classic = new TestPool({
          url: () => new Worker(RAW),
          config: {
            boot: [{ type: "ready", tasks: ["go"] }],
            run: [{ type: "done", id: "task", result: 1 }],
          },
        });
        return [failed, await classic.run("go")];
    """)
    assert failed["cause"]["message"] == "no more workers"
    assert classic == 1


BAD: dict[str, dict[str, Any]] = {
    "failed without an error": {"run": [{"type": "failed", "id": "task"}]},
    "failed with a word": {"run": [{"type": "failed", "id": "task", "error": "word"}]},
    "fatal without an error": {"run": [{"type": "fatal"}]},
}


@pytest.mark.parametrize("kind", BAD)
def test_badly_told_failure_is_a_failure(pool_bench: PoolBench, kind: str) -> None:
    """A worker that cannot say what went wrong still settles its task."""
    failed = pool_bench.play(
        """
        const pool = new TestPool({ url: RAW, config: given });
        const { failed } = await outcome(pool.run("go"));
        return failed;
        """,
        {"boot": [READY], **BAD[kind]},
    )
    assert failed["is"] in ("TaskError", "WorkerCrashedError")


@pytest.mark.parametrize(
    "boot",
    [
        {"type": "ready"},
        {"type": "ready", "tasks": "go"},
        {"type": "ready", "tasks": [1]},
        {"type": "boot-failed"},
    ],
    ids=["no tasks", "tasks that are no list", "tasks that are no names", "no error"],
)
def test_badly_told_boot_is_a_failed_boot(pool_bench: PoolBench, boot: dict[str, Any]) -> None:
    """The task that waits for it learns that no worker could start."""
    failed = pool_bench.play(
        """
        const pool = new TestPool({ url: RAW, config: given });
        const { failed } = await outcome(pool.run("go"));
        return failed;
        """,
        {"boot": [boot]},
    )
    assert failed["is"] == "BootError"


def test_chatter_is_ignored(pool_bench: PoolBench) -> None:
    """Messages of other kinds, for other tasks, or twice are counted as late and no more."""
    chatter = [
        None,
        "text",
        {"type": "unknown"},
        {"type": "done", "id": 99, "result": "of nobody"},
        {"type": "progress", "id": 99, "value": 1},
        READY,
    ]
    assert pool_bench.play(
        """
        const pool = new TestPool({ url: RAW, config: given });
        const results = [await pool.run("go"), await pool.run("go")];
        return [results, pool.stats.counts.late, pool.told("late-answer", "task-progress"),
            pool.stats.counts.started];
        """,
        {
            "boot": [{"type": "done", "id": 1, "result": "before ready"}, READY],
            "run": [
                *chatter,
                {"type": "done", "id": "task", "result": "right"},
                {"type": "done", "id": "task", "result": "again"},
            ],
        },
    ) == [
        ["right", "right"],
        4,
        ["late-answer 1 1", "late-answer 99 1", "late-answer 1 1", "late-answer 99 1"],
        1,
    ]


def test_causes_that_bite_their_tail(pool_bench: PoolBench) -> None:
    """A hand-written worker may send an error that is its own cause."""
    assert pool_bench.play(
        """
        const error = { name: "LoopError", message: "round", traceback: "" };
        error.cause = error;
        const config = { boot: given, run: [{ type: "failed", id: "task", error }] };
        const pool = new TestPool({ url: RAW, config });
        const { failed } = await outcome(pool.run("go"));
        return [failed.is, failed.name, (await outcome(pool.run("go"))).failed.name];
        """,
        [READY],
    ) == ["TaskError", "LoopError", "LoopError"]
