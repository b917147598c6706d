"""The pool in Chromium: tasks that are given up, pools that are closed or destroyed."""

from __future__ import annotations

import pytest

from tests.e2e.pool_harness.bench import PoolBench


@pytest.mark.parametrize("moment", ["before", "waiting", "running", "after"])
def test_abort_rejects_with_the_reason_itself(pool_bench: PoolBench, moment: str) -> None:
    """The very object that the signal was aborted with; after the result it changes nothing."""
    same, result, outcomes, following = pool_bench.play(
        """
        const pool = new TestPool();
        await pool.ready;
        const controller = new AbortController();
        const reason = { why: "no longer wanted" };
        const abort = () => controller.abort(reason);
        const gate = newGate();
        const blocker = given === "waiting" ? pool.run("hold", gate.cell) : undefined;
        if (given === "before") abort();
        const task = given === "after" ? "echo" : "untilGivenUp";
        const promise = pool.run(task, 1, { signal: controller.signal });
        if (given === "running") await pool.when("task-started");
        if (given === "after") await promise;
        if (given !== "before") abort();
        const same = await promise.then(() => false, (error) => error === reason);
        gate.open();
        await blocker;
        const result = (await outcome(promise)).done;
        return [same, result, pool.told("task-settled", "worker-freed", "worker-gone"),
            await pool.run("echo", "next")];
        """,
        moment,
    )
    assert same is (moment != "after")
    assert result == (1 if moment == "after" else None)
    assert following == "next"
    assert (
        outcomes
        == {
            "before": ["task-settled 1 untilGivenUp aborted"],
            "waiting": ["task-settled 2 untilGivenUp aborted", "task-settled 1 hold done"],
            "running": ["task-settled 1 untilGivenUp aborted"],
            "after": ["task-settled 1 echo done"],
        }[moment]
    )


def test_task_that_heeds_its_signal_leaves_its_worker_alive(pool_bench: PoolBench) -> None:
    """JavaScript that stops when told to is interrupted, and the same worker goes on."""
    assert pool_bench.play("""
        const pool = new TestPool({ taskTimeout: 1, graceMs: 60_000 });
        const { failed } = await outcome(pool.run("untilGivenUp"));
        return [failed.limit, failed.ended, pool.told("worker-freed", "worker-gone")];
    """) == ["taskTimeout", "interrupted", ["worker-freed 1 1 interrupted"]]


def test_deaf_task_costs_its_worker(pool_bench: PoolBench) -> None:
    """What has not stopped when the grace period is over is ended, and the error says so."""
    failed, told, following = pool_bench.play("""
        const pool = new TestPool({ graceMs: 1, taskTimeout: 1 });
        const gate = newGate();
        const { failed } = await outcome(pool.run("block", gate.cell));
        const following = await pool.when("worker-ready", { worker: 2 });
        const told = pool.told("worker-stopping", "worker-gone", "task-settled");
        return [failed, told, following.worker];
    """)
    assert (failed["is"], failed["limit"], failed["ms"]) == ("TaskTimeoutError", "taskTimeout", 1)
    assert failed["ended"] == "terminated"
    assert "its worker was ended" in failed["message"]
    assert told == [
        "worker-stopping 1 1",
        "task-settled 1 block timedOut",
        "worker-gone 1 terminated",
    ]
    assert following == 2


def test_interrupt_is_written_until_the_answer_and_cleared_then(pool_bench: PoolBench) -> None:
    """Python can miss a single 2 in the shared byte; left there, it would hit the next task."""
    seen = pool_bench.play("""
        let byte;
        const url = () => {
          const worker = newWorker(TASKS);
          const post = worker.postMessage.bind(worker);
          worker.postMessage = (message, ...rest) => {
            byte ??= message.config.interruptBuffer;
            if (message.type === "run") seen.push(byte[0]);
            post(message, ...rest);
          };
          return worker;
        };
        const seen = [];
        const pool = new TestPool({ url, graceMs: 60_000 });
        const gate = newGate();
        const controller = new AbortController();
        const held = outcome(pool.run("hold", gate.cell, { signal: controller.signal }));
        await pool.when("task-started");
        controller.abort();
        seen.push(byte[0]);
        byte[0] = 0;
        while (byte[0] === 0) await turn();
        seen.push(byte[0]);
        gate.open();
        await held;
        await pool.run("echo");
        seen.push(byte[0]);
        return seen;
    """)
    assert seen == [0, 2, 2, 0, 0]


def test_answer_in_the_grace_period_is_dropped_and_counted(pool_bench: PoolBench) -> None:
    """Too late is too late: the error says that the task had finished, and the worker goes on."""
    failed, counts, told, following = pool_bench.play("""
        const gate = newGate();
        const pool = new TestPool({
          taskTimeout: 1,
          graceMs: 60_000,
          onEvent({ type }) { if (type === "worker-stopping") gate.open(); },
        });
        const { failed } = await outcome(pool.run("hold", gate.cell));
        const { counts, workers } = pool.stats;
        return [failed, counts, pool.told("worker-freed", "late-answer"), workers[0].status];
    """)
    assert (failed["limit"], failed["ended"]) == ("taskTimeout", "finished")
    assert (counts["late"], counts["timedOut"], counts["started"]) == (1, 1, 1)
    assert told == ["late-answer 1 1", "worker-freed 1 1 finished"]
    assert following == "ready"


def test_answer_after_an_abort_is_dropped_and_counted(pool_bench: PoolBench) -> None:
    """Whoever has aborted does not hear of the result, and the worker takes the next task."""
    assert pool_bench.play("""
        const gate = newGate();
        const pool = new TestPool({ graceMs: 60_000 });
        const controller = new AbortController();
        const { signal } = controller;
        const held = outcome(pool.run("hold", gate.cell, { signal }));
        await pool.when("task-started");
        controller.abort();
        const { failed } = await held;
        gate.open();
        return [failed.name, await pool.run("echo", 1), pool.stats.counts.late,
            pool.told("worker-freed"), pool.stats.counts.started];
    """) == ["AbortError", 1, 1, ["worker-freed 1 1 finished"], 1]


def test_abort_while_a_time_out_is_being_carried_out(pool_bench: PoolBench) -> None:
    """The abort settles it, and only once."""
    assert pool_bench.play("""
        const controller = new AbortController();
        const gate = newGate();
        const pool = new TestPool({
          taskTimeout: 1,
          graceMs: 60_000,
          onEvent({ type }) { if (type === "worker-stopping") controller.abort("enough"); },
        });
        const { signal } = controller;
        const reason = await pool.run("hold", gate.cell, { signal }).catch((error) => error);
        gate.open();
        await pool.when("worker-freed");
        return [reason, pool.told("task-settled")];
    """) == ["enough", ["task-settled 1 hold aborted"]]


def test_time_out_at_the_moment_of_the_answer(pool_bench: PoolBench) -> None:
    """The answer and the timer are both due when the page gets to them: one of them wins."""
    results = pool_bench.play("""
        const pool = new TestPool();
        await pool.ready;
        const results = [];
        for (let round = 0; round < 30; round += 1) {
          const gate = newGate();
          const began = performance.now();
          const held = outcome(pool.run("hold", gate.cell, { timeout: 2 }));
          gate.open();
          while (performance.now() < began + 2 + (round % 3)) { /* the page is busy */ }
          const { done, failed } = await held;
          results.push(done ?? `${failed.is} ${failed.ended}`);
        }
        await pool.run("echo");
        return [results, pool.told("worker-gone")];
    """)
    assert set(results[0]) <= {"held", "TaskTimeoutError finished"}
    assert results[1] == []


def test_time_limit_counts_the_waiting(pool_bench: PoolBench) -> None:
    """A task that never got a worker in its time leaves the queue."""
    failed, queued = pool_bench.play("""
        const pool = new TestPool();
        await pool.ready;
        const gate = newGate();
        const held = pool.run("hold", gate.cell);
        const { failed } = await outcome(pool.run("echo", 1, { timeout: 1 }));
        const { queued } = pool.stats;
        gate.open();
        await held;
        return [failed, queued];
    """)
    assert (failed["limit"], failed["ms"], failed["ended"]) == ("timeout", 1, "waiting")
    assert queued == 0


def test_time_limits_longer_than_a_timer_can_wait(pool_bench: PoolBench) -> None:
    """A timer takes 25 days at most and fires at once for more: none is asked for more."""
    results, longest = pool_bench.play("""
        const { setTimeout } = globalThis;
        const delays = [];
        globalThis.setTimeout = (call, delay) => {
          delays.push(delay);
          return setTimeout(call, delay);
        };
        const pool = new TestPool({ taskTimeout: 2 ** 33 });
        await pool.ready;
        const gate = newGate();
        const held = pool.run("hold", gate.cell, { timeout: 2 ** 40 });
        const waited = pool.run("echo", 1, { timeout: 2 ** 32 });
        gate.open();
        const results = await Promise.all([held, waited]);
        globalThis.setTimeout = setTimeout;
        return [results, Math.max(...delays)];
    """)
    assert results == ["held", 1]
    assert longest == 2**31 - 1


@pytest.mark.parametrize("moment", ["booting", "running", "crash"])
def test_destroy_rejects_everything_at_once(pool_bench: PoolBench, moment: str) -> None:
    """While the first worker boots, while it runs, and while it dies; twice is as good as once."""
    seen = pool_bench.play(
        """
        const reason = new Error("the page is gone");
        const destroy = () => {
          pool.destroy(reason);
          pool.destroy("again");
        };
        const pool = new TestPool({
          size: 2,
          onEvent({ type }) { if (given === "crash" && type === "worker-gone") destroy(); },
        });
        const gate = newGate();
        const ready = outcome(pool.ready);
        if (given !== "booting") await pool.ready;
        const tasks = [pool.run(given === "crash" ? "errorLater" : "hold", gate.cell),
            pool.run("hold", gate.cell), pool.run("hold", gate.cell), pool.run("echo", 4)];
        if (given === "crash") await pool.when("worker-gone");
        else destroy();
        const same = [];
        for (const task of tasks) same.push(await task.catch((error) => error.cause === reason));
        const late = await pool.run("echo").catch((error) => [error.name, error.cause === reason]);
        await pool.close();
        return { same, late, ready: await ready, stats: pool.stats,
            closed: pool.told("pool-closed").length, settled: pool.told("task-settled").length };
        """,
        moment,
    )
    assert seen["same"] == [moment != "crash", True, True, True]
    assert seen["late"] == ["PoolClosedError", True]
    assert ("done" in seen["ready"]) is (moment != "booting")
    assert seen["stats"]["phase"] == "closed"
    assert seen["stats"]["workers"] == []
    assert seen["closed"] == 1
    assert seen["settled"] == 5


@pytest.mark.parametrize(
    "event",
    ["worker-starting", "worker-ready", "task-queued", "task-started", "task-settled"],
)
def test_destroy_from_within_any_event(pool_bench: PoolBench, event: str) -> None:
    """A listener may end the pool in the middle of anything: what is not settled then is closed."""
    outcomes = pool_bench.play(
        """
        const pool = new TestPool({
          onEvent({ type }) { if (type === given) pool.destroy(); },
        });
        const tasks = [1, 2, 3].map((value) => outcome(pool.run("echo", value)));
        return (await Promise.all(tasks)).map(({ done, failed }) => done ?? failed.name);
        """,
        event,
    )
    first = 1 if event == "task-settled" else "PoolClosedError"
    assert outcomes == [first, "PoolClosedError", "PoolClosedError"]


def test_close_lets_waiting_tasks_finish(pool_bench: PoolBench) -> None:
    """What was accepted is done, what comes later is refused, and then the workers go."""
    results, late, told, again = pool_bench.play("""
        const pool = new TestPool({ size: 2 });
        await pool.ready;
        const gate = newGate();
        const tasks = [pool.run("hold", gate.cell), pool.run("hold", gate.cell),
            pool.run("echo", 3), pool.run("echo", 4)];
        const closed = pool.close();
        const late = await outcome(pool.run("echo", 5));
        gate.open();
        const again = pool.close();
        await Promise.all([closed, again]);
        return [await Promise.all(tasks), late.failed.name, pool.told("worker-gone"),
            pool.stats.phase];
    """)
    assert results == ["held", "held", 3, 4]
    assert late == "PoolClosedError"
    assert {line.removeprefix("worker-gone ") for line in told} <= {"1 closed", "2 closed"}
    assert again == "closed"


def test_close_while_booting(pool_bench: PoolBench) -> None:
    """Tasks that wait for the first worker get it; without any, nobody waits for it."""
    with_task, without = pool_bench.play("""
        const busy = new TestPool();
        const waited = busy.run("echo", 1);
        await busy.close();
        const idle = new TestPool();
        await idle.when("worker-starting");
        const ready = outcome(idle.ready);
        await idle.close();
        return [await waited, (await ready).failed.name];
    """)
    assert (with_task, without) == (1, "PoolClosedError")


def test_close_survives_a_crash(pool_bench: PoolBench) -> None:
    """A closing pool replaces a worker if tasks still wait."""
    assert pool_bench.play("""
        const pool = new TestPool();
        const tasks = [outcome(pool.run("errorLater")), outcome(pool.run("echo", 2))];
        await pool.close();
        const [first, second] = await Promise.all(tasks);
        return [first.failed.name, second.done];
    """) == ["WorkerCrashedError", 2]


def test_await_using_closes_the_pool(pool_bench: PoolBench) -> None:
    """The end of the block waits for the tasks and ends the workers."""
    assert pool_bench.play("""
        const kept = {};
        {
          await using pool = new TestPool();
          kept.pool = pool;
          kept.task = pool.run("echo", "inside");
        }
        return [kept.pool.stats.phase, kept.pool.stats.workers, await kept.task];
    """) == ["closed", [], "inside"]
