/** Aborts, time-outs, and what becomes of a worker whose task nobody waits for. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { World } from "./world.mjs";

const only = (world) => [...world.living][0];
const types = (effects) => effects.map(({ type }) => type);

test("abort before: a signal that is aborted already refuses the task, though it could be taken", () => {
  const world = new World().boot();
  const reason = { sign: "the caller's own" };
  const task = world.send({ aborted: { kind: "aborted", reason } });
  assert.equal(task.outcome.reason, reason);
  assert.equal(world.with("busy").length, 0);
});

test("abort before: the signal's reason comes before any other refusal", () => {
  const world = new World().boot();
  world.happen({ type: "closing" });
  const task = world.send({ name: "nobody", aborted: { kind: "aborted", reason: "mine" } });
  assert.deepEqual(task.outcome, { kind: "aborted", reason: "mine" });
});

test("abort while it waits: the task leaves the queue at once", () => {
  const world = new World().boot();
  const [first, second, third] = [world.send(), world.send(), world.send()];
  world.abort(second, "enough");
  assert.deepEqual(second.outcome, { kind: "aborted", reason: "enough" });
  world.answer(first.worker);
  assert.equal(third.state, "running");
});

test("abort during: the task settles at once, and its worker is told to stop", () => {
  const world = new World().boot();
  const task = world.send();
  assert.deepEqual(types(world.abort(task, "enough")), ["settle", "cancel"]);
  assert.deepEqual(task.outcome, { kind: "aborted", reason: "enough" });
});

test("abort during: the worker gets nothing until it has stopped, and the next task then", () => {
  const world = new World().boot();
  const worker = only(world);
  world.abort(world.send());
  const next = world.send();
  assert.equal(next.state, "waiting");
  assert.deepEqual(types(world.fail(worker)), ["freed", "post"]);
  assert.equal(next.worker, worker);
});

test("abort during: a task that does not stop in the grace period ends with its worker", () => {
  const world = new World({ graceMs: 500 }).boot();
  const worker = only(world);
  world.abort(world.send());
  world.wait(499);
  assert.deepEqual(world.happen({ type: "timePassed" }), []);
  world.wait(1);
  assert.deepEqual(types(world.happen({ type: "timePassed" })), ["end", "start"]);
  assert.equal(worker.state, "dead");
});

test("abort after: nothing happens", () => {
  const world = new World().boot();
  const task = world.send();
  world.answer(only(world));
  assert.deepEqual(world.abort(task), []);
  assert.equal(task.outcome.kind, "done");
});

test("abort twice: the first reason holds, and the worker is told once", () => {
  const world = new World().boot();
  const task = world.send();
  world.abort(task, "first");
  assert.deepEqual(world.abort(task, "second"), []);
  assert.equal(task.outcome.reason, "first");
});

test("abort while a time-out stops the task: it settles at once, with the signal's reason", () => {
  const world = new World({ taskTimeout: 100 }).boot();
  const task = world.send();
  world.pass();
  assert.equal(task.state, "running");
  assert.deepEqual(types(world.abort(task, "enough")), ["settle"]);
  assert.deepEqual(task.outcome, { kind: "aborted", reason: "enough" });
  world.pass();
  assert.equal(world.counts.timedOut, 0);
});

test("an answer that comes after an abort is dropped and counted", () => {
  const world = new World().boot();
  const task = world.send();
  world.abort(task);
  assert.deepEqual(types(world.answer(only(world))), ["late", "freed"]);
  assert.equal(task.outcome.kind, "aborted");
  assert.equal(world.counts.late, 1);
});

test("an answer of a worker that was ended is dropped and counted", () => {
  const world = new World({ taskTimeout: 100 }).boot();
  const worker = only(world);
  const task = world.send();
  world.pass();
  world.pass();
  assert.equal(task.outcome.ended, "terminated");
  const outcome = { kind: "done", result: 1 };
  const event = { type: "answered", worker: worker.number, id: task.id, outcome };
  assert.deepEqual(types(world.happen(event)), ["late"]);
});

test("time-out at the moment of the answer: the answer holds when it comes first", () => {
  const world = new World().boot();
  const task = world.send({ timeout: 100 });
  world.wait(100);
  world.answer(only(world));
  world.happen({ type: "timePassed" });
  assert.equal(task.outcome.kind, "done");
});

test("time-out at the moment of the answer: the time-out holds when it comes first", () => {
  const world = new World().boot();
  const task = world.send({ timeout: 100 });
  world.wait(100);
  world.happen({ type: "timePassed" });
  world.answer(only(world));
  assert.deepEqual(task.outcome, {
    kind: "timedOut",
    limit: "timeout",
    ms: 100,
    ended: "finished",
  });
  assert.equal(world.counts.late, 1);
  assert.equal(world.with("idle").length, 1);
});

test("a time-out while the task waits says so", () => {
  const world = new World().boot();
  world.send();
  const task = world.send({ timeout: 100 });
  world.pass();
  assert.deepEqual(task.outcome, { kind: "timedOut", limit: "timeout", ms: 100, ended: "waiting" });
});

test("a task that stops when it is told to was interrupted, and its worker goes on", () => {
  const world = new World({ taskTimeout: 100 }).boot();
  const worker = only(world);
  const task = world.send();
  world.pass();
  world.fail(worker);
  assert.deepEqual(task.outcome, {
    kind: "timedOut",
    limit: "taskTimeout",
    ms: 100,
    ended: "interrupted",
  });
  assert.equal(world.send().worker, worker);
});

test("a task that does not stop was terminated, and its worker is replaced", () => {
  const world = new World({ taskTimeout: 100, graceMs: 500 }).boot();
  const task = world.send();
  world.pass();
  world.pass();
  assert.equal(world.now, 600);
  assert.equal(task.outcome.ended, "terminated");
  assert.equal(world.booting().number, 2);
});

test("a worker that dies while it should stop: its task timed out, and did not crash", () => {
  const world = new World({ taskTimeout: 100 }).boot();
  const task = world.send();
  world.pass();
  world.crash(only(world));
  assert.equal(task.outcome.kind, "timedOut");
  assert.equal(task.outcome.ended, "terminated");
});

test("`timeout` counts from the call, `taskTimeout` from the start", () => {
  const world = new World({ taskTimeout: 100 }).boot();
  const first = world.send();
  const [patient, hasty] = [world.send(), world.send({ timeout: 120 })];
  world.wait(90);
  world.answer(first.worker);
  world.pass();
  assert.equal(world.now, 120);
  assert.equal(hasty.outcome.ended, "waiting");
  world.pass();
  assert.equal(world.now, 190);
  world.fail(patient.worker);
  assert.equal(patient.outcome.limit, "taskTimeout");
});

test("of two limits, the one that is over first is named", () => {
  for (const [timeout, limit, ms] of [
    [50, "timeout", 50],
    [200, "taskTimeout", 100],
  ]) {
    const world = new World({ taskTimeout: 100 }).boot();
    const task = world.send({ timeout });
    world.pass();
    world.fail(only(world));
    assert.equal(task.outcome.limit, limit);
    assert.equal(task.outcome.ms, ms);
  }
});

test("a page that stood still gives every limit that time back", () => {
  const limits = { taskTimeout: 100, graceMs: 50, bootTimeout: 1000, size: 2 };
  const world = new World(limits);
  world.happen({ type: "timePassed" });
  const worker = world.ready();
  const [running, waiting] = [world.send(), world.send({ timeout: 200 })];
  world.wait(10_000);
  world.happen({ type: "resumed", away: 10_000 });
  assert.deepEqual(world.happen({ type: "timePassed" }), []);
  world.pass();
  assert.equal(world.now, 10_100);
  assert.equal(worker.cancelled, true);
  world.wait(5000);
  world.happen({ type: "resumed", away: 5000 });
  world.pass();
  assert.equal(world.now, 15_150);
  assert.equal(running.outcome.ended, "terminated");
  world.pass();
  assert.equal(world.now, 15_200);
  assert.equal(waiting.outcome.ended, "waiting");
  assert.equal(world.booting().number, 2);
  world.pass();
  assert.equal(world.now, 16_000);
  assert.equal(world.workers.get(2).state, "dead");
});
