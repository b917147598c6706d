"""The pool in Chromium: what goes into a task and what comes out of it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.pool_harness.bench import PoolBench

FALSY = ["zero", "minusZero", "false", "empty", "null", "undefined", "NaN", "bigZero"]


def test_falsy_results_settle_like_any_other(pool_bench: PoolBench) -> None:
    """0, -0, false, "", null, undefined, NaN and 0n come back as what they are."""
    same = pool_bench.play(
        """
        const pool = new TestPool();
        const values = await pool.run("values");
        const same = {};
        for (const name of given) {
          same[name] = Object.is(await pool.run("value", name), values[name]);
        }
        return same;
        """,
        FALSY,
    )
    assert same == dict.fromkeys(FALSY, True)


def test_falsy_payloads_arrive(pool_bench: PoolBench) -> None:
    """A payload may be any value, none included."""
    assert (
        pool_bench.play("""
        const pool = new TestPool();
        const sent = [0, false, "", null, undefined, Number.NaN];
        const back = await Promise.all(sent.map((value) => pool.run("echo", value)));
        return [...back.map((value, index) => Object.is(value, sent[index])),
            (await pool.run("echo")) === undefined];
    """)
        == [True] * 7
    )


@pytest.mark.parametrize("busy", [False, True], ids=["free", "busy"])
@pytest.mark.parametrize(
    "payload",
    ["function", "node", "symbol", "detached", "weak"],
)
def test_payload_that_cannot_be_cloned_is_refused_at_once(
    pool_bench: PoolBench, payload: str, *, busy: bool
) -> None:
    """The browser's own DataCloneError comes before any answer, and the worker takes the next."""
    happened = pool_bench.play(
        """
        const detached = new Uint8Array(8);
        structuredClone(detached, { transfer: [detached.buffer] });
        const payload = {
          function: () => {},
          node: { deep: [document.body] },
          symbol: Symbol(),
          detached,
          weak: new WeakMap(),
        }[given.payload];
        const pool = new TestPool();
        await pool.ready;
        const gate = newGate();
        const before = given.busy ? pool.run("hold", gate.cell) : undefined;
        const refused = outcome(pool.run("echo", payload));
        const { counts, queued, running } = pool.stats;
        gate.open();
        await before;
        return {
          refused: await refused,
          at_once: [counts.refused, queued, running],
          next: await pool.run("echo", "next"),
          started: pool.stats.counts.started,
        };
        """,
        {"payload": payload, "busy": busy},
    )
    assert happened["refused"]["failed"]["is"] == "DOMException"
    assert happened["refused"]["failed"]["name"] == "DataCloneError"
    assert happened["at_once"] == [1, 0, int(busy)]
    assert happened["next"] == "next"
    assert happened["started"] == 1


def test_payload_getter_that_throws_rejects_with_what_it_threw(pool_bench: PoolBench) -> None:
    """Reading the payload is part of cloning it, with a free worker or without."""
    assert pool_bench.play("""
        const pool = new TestPool();
        const broken = { get size() { throw new RangeError("no size"); } };
        const waiting = await outcome(pool.run("echo", broken));
        await pool.ready;
        const posted = await outcome(pool.run("echo", broken));
        return [waiting.failed, posted.failed, await pool.run("echo", 1)]
            .map((part) => part.message ?? part);
    """) == ["no size", "no size", 1]


def test_run_from_a_payload_getter(pool_bench: PoolBench) -> None:
    """The inner task is one like any other, and both settle."""
    assert pool_bench.play("""
        const pool = new TestPool();
        let inner = [];
        const nested = { get text() { inner.push(pool.run("echo", "inner")); return "outer"; } };
        const waited = await pool.run("echo", nested);
        await pool.ready;
        const posted = await pool.run("echo", nested);
        return [waited, posted, await Promise.all(inner)];
    """) == [{"text": "outer"}, {"text": "outer"}, ["inner", "inner"]]


def test_result_that_cannot_be_cloned_is_an_error(pool_bench: PoolBench) -> None:
    """A function in a result is the task's failure, and the worker lives."""
    failed, following, started = pool_bench.play("""
        const pool = new TestPool();
        return [(await outcome(pool.run("unclonable"))).failed, await pool.run("echo", 1),
            pool.stats.counts.started];
    """)
    assert (failed["is"], failed["name"]) == ("TaskError", "DataCloneError")
    assert (following, started) == (1, 1)


def test_large_arrays_come_back_as_buffers_of_their_own(pool_bench: PoolBench) -> None:
    """They are transferred, the same buffer once however often it occurs in the result."""
    assert pool_bench.play("""
        const pool = new TestPool();
        const filled = await pool.run("fill", 1e6);
        const left = await pool.run("left");
        const { first, second, again } = await pool.run("twice", 1e6);
        const shared = first === again && first.buffer === second.buffer;
        return [filled.byteLength, filled[999_999], left, shared];
    """) == [1_000_000, 7, 0, True]


def test_memory_that_cannot_be_handed_over_is_copied(pool_bench: PoolBench) -> None:
    """A view of a WebAssembly memory is a result like any other."""
    assert pool_bench.play("""
        const pool = new TestPool();
        return shown(await pool.run("wasmMemory"));
    """) == {"bytes": 65536}


def test_memory_that_cannot_be_handed_over_spoils_nothing_else(pool_bench: PoolBench) -> None:
    """The result's own large array comes along with it."""
    assert pool_bench.play("""
        const pool = new TestPool();
        const { own, memory } = await pool.run("withMemory");
        return [own.byteLength, memory.byteLength];
    """) == [100_000, 65_536]


@pytest.mark.parametrize("depth", [501, 1500, 2400, 100_000])
def test_what_lies_too_deep_in_each_other_is_refused(pool_bench: PoolBench, depth: int) -> None:
    """A browser may fail to read such a message and tell nobody, so it is never sent."""
    seen = pool_bench.play(
        """
        const pool = new TestPool({ size: 1 });
        await pool.ready;
        let nested = null;
        for (let level = 0; level < given; level += 1) nested = [nested];
        const results = await Promise.all([
          outcome(pool.run("nest", given)),
          outcome(pool.run("nestMaps", given)),
        ]);
        const free = outcome(pool.run("echo", nested));
        const waiting = outcome(pool.run("echo", { nested }));
        const payloads = await Promise.all([free, waiting]);
        return {
          names: [...results, ...payloads].map(({ failed }) => failed.name),
          still: await pool.run("echo", 1),
          started: pool.stats.counts.started,
        };
        """,
        depth,
    )
    assert seen == {"names": ["DataCloneError"] * 4, "still": 1, "started": 1}


def test_what_lies_deep_but_not_too_deep_passes(pool_bench: PoolBench) -> None:
    """Nobody who nests reasonably is refused."""
    assert (
        pool_bench.play("""
        const pool = new TestPool({ size: 1 });
        let nested = 0;
        for (let level = 0; level < 240; level += 1) nested = { nested: [nested] };
        const both = [pool.run("nest", 499), pool.run("echo", nested), pool.run("echo", nested)];
        return (await Promise.all(both.map(outcome))).map(({ failed }) => failed ?? "fine");
    """)
        == ["fine"] * 3
    )


THROWN: dict[str, dict[str, Any]] = {
    "string": {"name": "Error", "message": "just a string"},
    "emptyString": {"name": "Error", "message": ""},
    "undefined": {"name": "Error", "message": "undefined"},
    "null": {"name": "Error", "message": "null"},
    "zero": {"name": "Error", "message": "0"},
    "symbol": {"name": "Error", "message": "Symbol(sign)"},
    "function": {"name": "Error", "message": "() => {}"},
    "bare": {"name": "Error", "message": "a value that cannot be written down"},
    "revoked": {"name": "Error", "message": "a value that cannot be written down"},
    "getters": {"name": "Error", "message": "a value that cannot be written down"},
    "errorWithGetters": {"name": "Error", "message": ""},
    "range": {"name": "RangeError", "message": "too far"},
    "dom": {"name": "NotFoundError", "message": "nothing here"},
    "own": {"name": "OddNumberError", "message": "it is odd"},
}


@pytest.mark.parametrize("task", ["throw", "rejects"])
def test_whatever_a_task_throws_comes_back(pool_bench: PoolBench, task: str) -> None:
    """Strings, symbols, nothing at all, errors whose getters throw: each is a TaskError."""
    seen = pool_bench.play(
        """
        const pool = new TestPool();
        const seen = {};
        for (const name of given.names) {
          const { failed } = await outcome(pool.run(given.task, name));
          seen[name] = { is: failed.is, name: failed.name, message: failed.message };
        }
        return [seen, pool.stats.counts.started];
        """,
        {"task": task, "names": list(THROWN)},
    )
    expected = {name: {"is": "TaskError", **thrown} for name, thrown in THROWN.items()}
    assert seen == [expected, 1]


def test_huge_error_is_cut(pool_bench: PoolBench) -> None:
    """Name, message and stack of a million characters each come back readable."""
    failed = pool_bench.play("""
        const { failed } = await outcome(new TestPool().run("throw", "huge"));
        return failed;
    """)
    assert failed["message"].startswith("m" * 10_000 + " … (990000 more")
    assert len(failed["name"]) < 1_000
    assert len(failed["traceback"]) < 41_000


def test_causes_come_along_and_end(pool_bench: PoolBench) -> None:
    """A chain of causes is kept; one that goes round in circles is cut."""
    chain, cycle, endless = pool_bench.play("""
        const pool = new TestPool();
        const causes = (error) =>
          error ? [`${error.name} ${error.message}`, ...causes(error.cause)] : [];
        const list = [];
        for (const name of ["chain", "cycle", "endless"]) {
          list.push(causes((await outcome(pool.run("throw", name))).failed));
        }
        return list;
    """)
    assert chain == ["Error outer", "TypeError middle", "Error inner"]
    assert cycle == [f"Error {('first', 'second')[turn % 2]}" for turn in range(9)]
    assert endless == ["Error link"] * 9


def test_a_buffer_goes_into_one_task_only(pool_bench: PoolBench) -> None:
    """The second to transfer a buffer is refused; without a transfer, both have copies."""
    first, second, copies = pool_bench.play("""
        const pool = new TestPool();
        const buffer = new ArrayBuffer(8);
        const first = pool.run("echo", buffer, { transfer: [buffer] });
        const second = outcome(pool.run("echo", buffer, { transfer: [buffer] }));
        const other = new ArrayBuffer(16);
        const both = await Promise.all([pool.run("echo", other), pool.run("echo", other)]);
        return [shown(await first), (await second).failed, [...both.map(shown), shown(other)]];
    """)
    assert first == {"bytes": 8}
    assert second["name"] == "DataCloneError"
    assert copies == [{"bytes": 16}] * 3


@pytest.mark.parametrize("why", ["full", "unknown", "closed", "aborted", "unclonable"])
def test_refused_task_leaves_its_buffer_alone(pool_bench: PoolBench, why: str) -> None:
    """Whoever is refused still has what he wanted to hand over."""
    failed, left = pool_bench.play(
        """
        const pool = new TestPool({ maxQueue: given === "full" ? 0 : 5 });
        await pool.ready;
        const gate = newGate();
        pool.run("hold", gate.cell).catch(() => {});
        if (given === "closed") pool.destroy();
        const buffer = new ArrayBuffer(8);
        const payload = given === "unclonable" ? { buffer, call() {} } : { buffer };
        const signal = given === "aborted" ? AbortSignal.abort() : undefined;
        const task = given === "unknown" ? "toString" : "echo";
        const { failed } = await outcome(pool.run(task, payload, { transfer: [buffer], signal }));
        gate.open();
        return [failed.name, buffer.byteLength];
        """,
        why,
    )
    assert left == 8
    assert (
        failed
        == {
            "full": "QueueFullError",
            "unknown": "UnknownTaskError",
            "closed": "PoolClosedError",
            "aborted": "AbortError",
            "unclonable": "DataCloneError",
        }[why]
    )


@pytest.mark.parametrize("busy", [False, True], ids=["free", "busy"])
def test_accepted_task_takes_its_payload_at_once(pool_bench: PoolBench, *, busy: bool) -> None:
    """When run() returns, the buffer is gone and later changes to the payload do not matter."""
    assert pool_bench.play(
        """
        const pool = new TestPool();
        await pool.ready;
        const gate = newGate();
        if (given) pool.run("hold", gate.cell);
        const buffer = new Uint8Array([1, 2, 3]).buffer;
        const payload = { buffer, list: [1] };
        const echoed = pool.run("echo", payload, { transfer: [buffer] });
        const left = buffer.byteLength;
        payload.list.push(2);
        payload.more = true;
        gate.open();
        const { buffer: back, ...rest } = await echoed;
        return [left, [...new Uint8Array(back)], rest];
        """,
        busy,
    ) == [0, [1, 2, 3], {"list": [1]}]


def test_ports_and_bitmaps_wait_with_their_task(pool_bench: PoolBench) -> None:
    """What only a transfer can carry arrives in a task that had to wait."""
    assert pool_bench.play("""
        const pool = new TestPool();
        await pool.ready;
        const gate = newGate();
        const held = pool.run("hold", gate.cell);
        const bitmap = await createImageBitmap(new ImageData(3, 2));
        const { port1, port2 } = new MessageChannel();
        const heard = new Promise((resolve) => { port1.onmessage = ({ data }) => resolve(data); });
        const described = pool.run("describe", { bitmap }, { transfer: [bitmap] });
        const said = pool.run("say", { port: port2, text: "through" }, { transfer: [port2] });
        gate.open();
        return [await held, await described, await said, await heard, bitmap.width];
    """) == ["held", {"keys": ["bitmap"], "isBitmap": True, "width": 3}, "said", "through", 0]


def test_progress_comes_in_order_and_before_the_result(pool_bench: PoolBench) -> None:
    """A listener takes each value of its own task, and nothing once the task is given up."""
    assert pool_bench.play("""
        const pool = new TestPool();
        const seen = [];
        const note = (value) => seen.push(value);
        seen.push(await pool.run("steps", [0, 0.5, 1], { onProgress: note }));
        const other = [];
        await pool.run("steps", [0.25], { onProgress: (value) => other.push(value) });
        const controller = new AbortController();
        const given_up = outcome(pool.run("steps", [0.1, 0.2, 0.3], {
          signal: controller.signal,
          onProgress(value) { note(value); controller.abort(); },
        }));
        await given_up;
        await pool.run("echo");
        return [seen, other];
    """) == [[0, 0.5, 1, "stepped", 0.1], [0.25]]


def test_task_is_a_name(pool_bench: PoolBench) -> None:
    """A function is never sent, and no inherited name is a task."""
    function, *unknown = pool_bench.play("""
        const pool = new TestPool();
        const early = outcome(pool.run("constructor"));
        await pool.ready;
        const names = ["toString", "__proto__", "", "Echo"];
        const late = await Promise.all(names.map((name) => outcome(pool.run(name))));
        const function_ = await WorkerPool.prototype.run.call(pool, () => 1).catch(shown);
        return [function_, await early, ...late].map((part) => part.failed ?? part);
    """)
    assert function["name"] == "TypeError"
    assert [(error["is"], error["task"]) for error in unknown] == [
        ("UnknownTaskError", name) for name in ("constructor", "toString", "__proto__", "", "Echo")
    ]
    assert all("echo" in error["known"] for error in unknown)
