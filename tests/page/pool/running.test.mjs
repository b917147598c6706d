/** What tasks wait for, how they end, and what that leaves of their workers. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { mishap, World } from "./world.mjs";

/** @returns {object} the only worker of a pool that has booted it */
const only = (world) => [...world.living][0];

for (const result of [0, false, "", null, undefined, Number.NaN]) {
  test(`${JSON.stringify(result)} (${typeof result}) settles a task like any other result`, () => {
    const world = new World().boot();
    const task = world.send();
    world.answer(only(world), { kind: "done", result });
    assert.deepEqual(task.outcome, { kind: "done", result });
    assert.equal(world.with("idle").length, 1);
  });
}

test("a task that fails leaves its worker free for the next", () => {
  const world = new World().boot();
  const [first, second] = [world.send(), world.send()];
  const error = mishap("wrong");
  world.fail(only(world), error);
  assert.deepEqual(first.outcome, { kind: "failed", error });
  assert.equal(second.state, "running");
});

test("tasks start in the order in which they were queued", () => {
  const world = new World().boot();
  const tasks = [1, 2, 3, 4].map(() => world.send());
  for (const task of tasks) {
    assert.equal(only(world).task, task);
    world.answer(only(world));
  }
});

test("tasks of a higher priority start first, and among equals the order stays", () => {
  const world = new World().boot();
  world.send();
  const names = { low: -1, first: 0, urgent: 5, second: 0, also: 5 };
  const tasks = Object.fromEntries(
    Object.entries(names).map(([name, priority]) => [name, world.send({ priority })]),
  );
  const order = [];
  for (let left = 5; left > 0; left -= 1) {
    world.answer(only(world));
    order.push(Object.keys(tasks).find((name) => tasks[name] === only(world).task));
  }
  assert.deepEqual(order, ["urgent", "also", "first", "second", "low"]);
});

test("the queue refuses a task exactly at its limit, and takes one again after another is over", () => {
  const world = new World({ maxQueue: 2 }).boot();
  const taken = [world.send(), world.send(), world.send()];
  assert.deepEqual(
    taken.map(({ state }) => state),
    ["running", "waiting", "waiting"],
  );
  const refusal = { kind: "refused", why: "full", queued: 2, maxQueue: 2 };
  assert.deepEqual(world.send().outcome, refusal);
  world.answer(only(world));
  assert.equal(world.send().state, "waiting");
  assert.deepEqual(world.send().outcome, refusal);
});

test("a queue that holds nothing takes a task for a free worker, and refuses any other", () => {
  const world = new World({ maxQueue: 0 });
  world.happen({ type: "timePassed" });
  assert.equal(world.send().outcome.why, "full");
  world.ready();
  assert.equal(world.send().state, "running");
  assert.equal(world.send().outcome.why, "full");
});

test("an unknown name is refused at once, even when there is room", () => {
  const world = new World().boot();
  const { outcome } = world.send({ name: "toString" });
  assert.deepEqual(outcome, {
    kind: "refused",
    why: "unknown",
    task: "toString",
    known: ["square", "echo"],
  });
});

test("an unknown name that was queued before any worker was ready is refused by the first", () => {
  const world = new World();
  world.happen({ type: "timePassed" });
  const [unknown, known] = [world.send({ name: "nobody" }), world.send()];
  assert.equal(unknown.state, "waiting");
  world.ready();
  assert.equal(unknown.outcome.why, "unknown");
  assert.equal(known.state, "running");
});

test("a payload that cannot be cloned is refused, and its worker stays free", () => {
  const world = new World().boot();
  const task = world.send();
  const error = mishap("a function");
  world.happen({ type: "unsendable", id: task.id, error });
  assert.deepEqual(task.outcome, { kind: "refused", why: "unsendable", error });
  assert.equal(world.send().state, "running");
  assert.equal(world.counts.started, 1);
});

test("a payload that cannot be cloned and has to wait is refused before its turn", () => {
  const world = new World().boot();
  const first = world.send();
  const second = world.send();
  world.happen({ type: "unsendable", id: second.id, error: mishap("a DOM node") });
  assert.equal(second.outcome.why, "unsendable");
  assert.equal(first.state, "running");
});

test("a task that was aborted while its payload was refused leaves its worker free", () => {
  const world = new World().boot();
  const task = world.send();
  world.abort(task);
  world.happen({ type: "unsendable", id: task.id, error: mishap("a getter that aborts") });
  assert.equal(task.outcome.kind, "aborted");
  assert.equal(world.send().state, "running");
});

test("a worker that dies takes only its own task with it, and is replaced", () => {
  const world = new World({ size: 2 }).boot();
  const [lost, other, next] = [world.send(), world.send(), world.send()];
  const error = mishap("out of memory");
  const { worker } = lost;
  world.crash(worker, error);
  assert.deepEqual(lost.outcome, { kind: "crashed", worker: 1, task: "echo", error });
  assert.equal(other.state, "running");
  assert.equal(next.state, "waiting");
  world.ready();
  assert.equal(next.state, "running");
});

test("a worker that closes itself takes its task with it", () => {
  const world = new World().boot();
  const task = world.send();
  world.happen({ type: "exited", worker: only(world).number });
  assert.equal(task.outcome.kind, "crashed");
  assert.match(task.outcome.error.message, /by itself/);
});

test("a worker dies once, however often that is told", () => {
  const world = new World().boot();
  const worker = only(world);
  const task = world.send();
  world.crash(worker);
  const next = world.send();
  world.ready();
  world.crash(worker);
  world.happen({ type: "exited", worker: worker.number });
  assert.equal(task.outcome.kind, "crashed");
  assert.equal(next.state, "running");
  assert.equal(world.counts.lost, 1);
});

test("a second answer to the same task is dropped and counted", () => {
  const world = new World().boot();
  const worker = only(world);
  const [first, second] = [world.send(), world.send()];
  world.answer(worker, { kind: "done", result: 1 });
  world.happen({
    type: "answered",
    worker: worker.number,
    id: first.id,
    outcome: { kind: "done", result: 2 },
  });
  assert.equal(first.outcome.result, 1);
  assert.equal(second.state, "running");
  assert.equal(world.counts.late, 1);
});

test("a worker says that it is ready a second time: its task stays its task", () => {
  const world = new World().boot();
  const worker = only(world);
  const [first, second] = [world.send(), world.send()];
  world.ready(["square", "echo"], worker);
  assert.equal(worker.task, first);
  assert.equal(second.state, "waiting");
});

test("progress reaches a task that runs, and none that was given up", () => {
  const world = new World().boot();
  const task = world.send();
  const event = { type: "progressed", worker: 1, id: task.id, value: 0.25 };
  assert.deepEqual(world.happen(event), [{ type: "progress", id: task.id, value: 0.25 }]);
  world.abort(task);
  assert.deepEqual(world.happen(event), []);
});

test("a worker is replaced after `maxTasksPerWorker` answers", () => {
  const world = new World({ maxTasksPerWorker: 2 }).boot();
  const worker = only(world);
  const tasks = [world.send(), world.send(), world.send()];
  world.answer(worker);
  assert.equal(worker.task, tasks[1]);
  const effects = world.answer(worker);
  assert.deepEqual(
    effects.map(({ type, reason }) => reason ?? type),
    ["settle", "recycled", "start"],
  );
  world.ready();
  assert.equal(tasks[2].worker.number, 2);
});

test("a larger size starts further workers", () => {
  const world = new World().boot();
  world.happen({ type: "resized", size: 3 });
  world.ready();
  world.ready();
  assert.equal(world.with("idle").length, 3);
});

test("a smaller size ends free workers at once, and busy ones after their task", () => {
  const world = new World({ size: 3 }).boot();
  const [first, second] = [world.send(), world.send()];
  world.happen({ type: "resized", size: 1 });
  assert.equal(world.living.size, 2);
  const waiting = world.send();
  world.answer(second.worker);
  assert.equal(world.living.size, 1);
  assert.equal(waiting.state, "waiting");
  world.answer(first.worker);
  assert.equal(waiting.state, "running");
});

test("a smaller size costs as little as can be: empty places, then workers that boot", () => {
  const world = new World({ size: 3 });
  world.happen({ type: "timePassed" });
  const worker = world.ready();
  world.happen({ type: "resized", size: 2 });
  assert.equal(world.living.size, 2);
  world.happen({ type: "resized", size: 1 });
  assert.deepEqual([...world.living], [worker]);
});

test("a smaller size costs as little as can be: free workers before busy ones", () => {
  const world = new World({ size: 3 }).boot();
  const tasks = [world.send(), world.send(), world.send()];
  world.answer(tasks[0].worker);
  world.happen({ type: "resized", size: 2 });
  assert.equal(world.with("busy").length, 2);
  world.abort(tasks[1]);
  world.happen({ type: "resized", size: 1 });
  world.fail(tasks[1].worker);
  assert.deepEqual([...world.living], [tasks[2].worker]);
});

test("a worker that should go stays when the size grows again before its task is over", () => {
  const world = new World({ size: 2 }).boot();
  const [, second] = [world.send(), world.send()];
  world.happen({ type: "resized", size: 1 });
  world.happen({ type: "resized", size: 2 });
  world.answer(second.worker);
  assert.equal(world.with("idle").length, 1);
  assert.equal(world.counts.started, 2);
});
