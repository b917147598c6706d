"""The pool in Chromium: order, limits, events, size, and what is left after many tasks."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Browser, CDPSession

from bench.pool_peers.snapshot import sizes
from tests.e2e.pool_harness.bench import PoolBench


def test_queue_is_full_at_its_limit_and_free_again(pool_bench: PoolBench) -> None:
    """The task past the limit is refused at once, and taken once another has finished."""
    full, count, results = pool_bench.play("""
        const pool = new TestPool({ maxQueue: 2 });
        await pool.ready;
        const gates = [newGate(), newGate()];
        const held = pool.run("hold", gates[0].cell);
        const waiting = [pool.run("hold", gates[1].cell), pool.run("echo", "second")];
        const { failed } = await outcome(pool.run("echo", "too many"));
        gates[0].open();
        await held;
        const again = pool.run("echo", "again");
        const { failed: refused } = await outcome(pool.run("echo", "too many"));
        gates[1].open();
        await waiting[0];
        return [[failed, refused], pool.stats.counts.refused,
            await Promise.all([held, ...waiting, again])];
    """)
    for error in full:
        assert (error["is"], error["queued"], error["maxQueue"]) == ("QueueFullError", 2, 2)
    assert count == 2
    assert results == ["held", "held", "second", "again"]


def test_a_queue_of_none_takes_what_a_free_worker_can_start(pool_bench: PoolBench) -> None:
    """Without room to wait, a task is either started or refused; while booting, refused."""
    assert pool_bench.play("""
        const pool = new TestPool({ maxQueue: 0 });
        const early = await outcome(pool.run("echo", 1));
        await pool.ready;
        const tasks = [outcome(pool.run("echo", 1)), outcome(pool.run("echo", 2))];
        return [early, ...await Promise.all(tasks)].map(({ done, failed }) => done ?? failed.name);
    """) == ["QueueFullError", 1, "QueueFullError"]


def test_urgent_tasks_start_first_and_equals_in_order(pool_bench: PoolBench) -> None:
    """A higher priority goes ahead; among equals, who came first."""
    assert (
        pool_bench.play("""
        const pool = new TestPool();
        const order = [];
        const sent = [[0, "a"], [1, "b"], [0, "c"], [-1, "d"], [1, "e"], [0.5, "f"]];
        await Promise.all(sent.map(async ([priority, name]) => {
          order.push(await pool.run("echo", name, { priority }));
        }));
        return order.join("");
    """)
        == "befacd"
    )


@pytest.mark.complaints("a listener's own mistake")
def test_listener_that_throws_breaks_nothing_and_is_reported(pool_bench: PoolBench) -> None:
    """Both kinds of listeners: the page's error handler hears of it, the pool goes on."""
    result, reported, status = pool_bench.play("""
        const reported = [];
        const note = ({ error }) => reported.push(error.message);
        addEventListener("error", note);
        const mistake = () => { throw new Error("a listener's own mistake"); };
        const pool = new TestPool({ onEvent({ type }) { if (type === "task-queued") mistake(); } });
        const result = await pool.run("steps", [0.5], { onProgress: mistake });
        removeEventListener("error", note);
        return [result, reported, pool.stats.workers[0].status];
    """)
    assert result == "stepped"
    assert reported == ["a listener's own mistake"] * 2
    assert status == "ready"


def test_run_from_listeners(pool_bench: PoolBench) -> None:
    """An event or a step of progress may send further tasks; each settles."""
    assert pool_bench.play("""
        const more = [];
        const pool = new TestPool({
          onEvent({ type, task }) {
            if (type === "task-settled" && task === "steps") more.push(pool.run("echo", "event"));
          },
        });
        const onProgress = () => more.push(pool.run("echo", "progress"));
        const result = await pool.run("steps", [0, 1], { onProgress });
        await pool.when("task-settled", { task: "steps" });
        return [result, await Promise.all(more)];
    """) == ["stepped", ["progress", "progress", "event"]]


def test_a_task_is_told_of_in_order(pool_bench: PoolBench) -> None:
    """Queued, started, progress, settled: as they happen, each once."""
    assert pool_bench.play("""
        const pool = new TestPool();
        await pool.run("steps", [0, 1]);
        return pool.heard.map(({ type }) => type);
    """) == [
        "task-queued",
        "worker-starting",
        "worker-ready",
        "task-started",
        "task-progress",
        "task-progress",
        "task-settled",
    ]


def test_ready_names_the_tasks(pool_bench: PoolBench) -> None:
    """`ready` resolves with the names that run() takes."""
    ready = pool_bench.play("return shown(await new TestPool().ready);")
    assert {"echo", "hold"} <= set(ready["tasks"])


def test_workers_start_one_after_another(pool_bench: PoolBench) -> None:
    """The first is useful before the second begins, and passes on what it shares."""
    assert pool_bench.play(
        """
        const pool = new TestPool({ url: RAW, size: 3, config: given });
        await pool.when("worker-ready", { worker: 3 });
        return pool.told("worker-starting", "worker-ready");
        """,
        {"boot": [{"type": "ready", "tasks": ["go"], "shared": {"module": 1}}]},
    ) == [line for n in (1, 2, 3) for line in (f"worker-starting {n}", f"worker-ready {n}")]


def test_later_workers_get_what_the_first_one_shared(pool_bench: PoolBench) -> None:
    """Its `shared` is a part of their config, and not of its own."""
    assert pool_bench.play("""
        const configs = [];
        const url = () => {
          const worker = newWorker(RAW);
          const post = worker.postMessage.bind(worker);
          worker.postMessage = (message, transfer) => {
            if (message.type === "boot") configs.push(message.config.shared);
            post(message, transfer);
          };
          return worker;
        };
        const boot = [{ type: "ready", tasks: ["go"], shared: "what took long" }];
        const pool = new TestPool({ url, size: 2, config: { boot } });
        await pool.when("worker-ready", { worker: 2 });
        return configs.map((shared) => shared ?? "nothing");
    """) == ["nothing", "what took long"]


def test_resize(pool_bench: PoolBench) -> None:
    """More workers start; fewer end when free, and with a task when it is over."""
    sizes, results, reasons = pool_bench.play("""
        const pool = new TestPool();
        await pool.ready;
        const sizes = [pool.stats.workers.length];
        pool.resize(3);
        await pool.when("worker-ready", { worker: 3 });
        sizes.push(pool.stats.workers.length);
        const gate = newGate();
        const held = [1, 2, 3].map(() => pool.run("hold", gate.cell));
        pool.resize(1);
        sizes.push(pool.stats.running);
        const waiting = pool.run("echo", "after");
        gate.open();
        const results = [...await Promise.all(held), await waiting];
        sizes.push(pool.stats.workers.length);
        return [sizes, results, pool.told("worker-gone").map((line) => line.split(" ")[2])];
    """)
    assert sizes == [1, 3, 3, 1]
    assert results == ["held", "held", "held", "after"]
    assert reasons == ["resized", "resized"]


@pytest.mark.parametrize("size", [0, -1, 1.5, None, "2"])
def test_sizes_that_make_no_sense_are_refused(pool_bench: PoolBench, size: Any) -> None:
    """By the constructor and by resize(), which leaves the pool as it was."""
    assert pool_bench.play(
        """
        const refused = (act) => {
          try { act(); return "taken"; } catch (error) { return error.name; }
        };
        const pool = new TestPool();
        const made = given === null ? "none given" : refused(() => new WorkerPool({ size: given }));
        return [made, refused(() => pool.resize(given)), await pool.run("echo", 1)];
        """,
        size,
    ) == (
        ["none given", "TypeError", 1]
        if size is None
        else ["TypeError", "TypeError", 1]
        if size == "2"
        else ["RangeError", "RangeError", 1]
    )


def test_worker_is_replaced_after_its_share_of_tasks(pool_bench: PoolBench) -> None:
    """With maxTasksPerWorker: 2, six tasks take three workers, and none is lost."""
    assert pool_bench.play("""
        const pool = new TestPool({ maxTasksPerWorker: 2 });
        const results = await Promise.all([1, 2, 3, 4, 5, 6].map((n) => pool.run("echo", n)));
        return [results, pool.told("worker-gone"), pool.stats.counts.lost];
    """) == [[1, 2, 3, 4, 5, 6], [f"worker-gone {n} recycled" for n in (1, 2, 3)], 0]


def test_stats(pool_bench: PoolBench) -> None:
    """They show workers with their tasks, and what waits; later events do not change them."""
    stats = pool_bench.play("""
        const pool = new TestPool();
        await pool.run("echo");
        const gate = newGate();
        const tasks = [pool.run("hold", gate.cell), pool.run("echo", 1)];
        const { stats } = pool;
        gate.open();
        await Promise.all(tasks);
        return stats;
    """)
    assert stats["phase"] == "open"
    assert (stats["size"], stats["queued"], stats["running"]) == (1, 1, 1)
    assert stats["workers"] == [
        {"worker": 1, "status": "busy", "task": {"id": 2, "name": "hold"}, "answered": 1}
    ]
    assert (stats["counts"]["sent"], stats["counts"]["done"]) == (3, 1)


@pytest.mark.parametrize(
    ("cores", "gigabytes", "size"),
    [(1, 8, 1), (8, 2, 1), (2, 4, 2), (4, 8, 2), (8, 4, 2), (8, 8, 4), (64, 8, 4), (None, None, 2)],
)
def test_size_by_default(
    pool_bench: PoolBench, cores: int | None, gigabytes: float | None, size: int
) -> None:
    """1 on a small machine, 4 on a large one, 2 on any other and where the browser does not say."""
    assert (
        pool_bench.play(
            """
        for (const [name, value] of Object.entries(given)) {
          Object.defineProperty(navigator, name, { configurable: true, value: value ?? undefined });
        }
        const pool = new TestPool({ size: undefined });
        for (const name of Object.keys(given)) delete navigator[name];
        return pool.stats.size;
        """,
            {"hardwareConcurrency": cores, "deviceMemory": gigabytes},
        )
        == size
    )


MANY = """
async ([tasks, url]) => {
  const { WorkerPool, spawned } = await import("/harness/harness.js");
  globalThis.kept ??= { pool: new WorkerPool({ url, size: 2 }), controller: new AbortController() };
  const { pool, controller: { signal } } = kept;
  const onProgress = () => {};
  for (let left = tasks; left > 0; left -= 500) {
    const options = () => ({ signal, onProgress, timeout: 100_000 });
    await Promise.all(Array.from({ length: 500 }, (_, n) => pool.run("echo", n, options())));
  }
  return pool.stats.counts.done;
}
"""


def kept(session: CDPSession) -> int:
    """Return the bytes in use after a forced collection, without what V8 makes of functions."""
    chunks: list[str] = []
    session.on("HeapProfiler.addHeapSnapshotChunk", lambda event: chunks.append(event["chunk"]))
    session.send("HeapProfiler.collectGarbage")
    session.send("HeapProfiler.takeHeapSnapshot")
    return sizes("".join(chunks)).kept


def test_many_tasks_leave_nothing_behind(browser: Browser, pool_bench: PoolBench) -> None:
    """20,000 tasks with one signal: no listener stays on it, and the heap is as after 2,000."""
    page = browser.new_page()
    page.goto(f"{pool_bench.origin}harness/index.html")
    session = page.context.new_cdp_session(page)
    page.evaluate(MANY, [2_000, "/harness/tasks.js"])
    before = kept(session)
    assert page.evaluate(MANY, [18_000, "/harness/tasks.js"]) == 20_000
    after = kept(session)
    assert after < before * 1.02
    signal = session.send("Runtime.evaluate", {"expression": "kept.controller.signal"})
    found = session.send(
        "DOMDebugger.getEventListeners", {"objectId": signal["result"]["objectId"]}
    )
    assert found["listeners"] == []
    page.context.close()
