/** `close` lets a pool finish, `destroy` does not. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { World } from "./world.mjs";

const close = (world) => world.happen({ type: "closing" });
const destroy = (world, reason = "why") => world.happen({ type: "destroyed", reason });
const closed = { kind: "closed", reason: "why" };
const types = (effects) => effects.map(({ type }) => type);

test("destroy before anything has started", () => {
  const world = new World();
  assert.deepEqual(types(destroy(world)), ["closed"]);
  assert.deepEqual(world.happen({ type: "timePassed" }), []);
});

test("destroy while booting: all that wait are settled, and the worker is ended", () => {
  const world = new World();
  world.happen({ type: "timePassed" });
  const tasks = [world.send(), world.send()];
  const worker = world.booting();
  destroy(world);
  for (const task of tasks) assert.deepEqual(task.outcome, closed);
  world.ready(["echo"], worker);
  assert.equal(world.phase, "closed");
});

test("destroy while running: all that run and wait are settled", () => {
  const world = new World({ size: 2 }).boot();
  const tasks = [world.send(), world.send(), world.send()];
  destroy(world);
  for (const task of tasks) assert.deepEqual(task.outcome, closed);
  assert.equal(world.living.size, 0);
});

test("destroy while a task is told to stop: it ends in its time-out", () => {
  const world = new World({ taskTimeout: 100 }).boot();
  const task = world.send();
  world.pass();
  destroy(world);
  assert.equal(task.outcome.ended, "terminated");
});

test("destroy twice: the first reason holds", () => {
  const world = new World().boot();
  destroy(world);
  assert.deepEqual(destroy(world, "again"), []);
  assert.deepEqual(world.send().outcome, closed);
});

test("destroy during a crash: each task is settled once", () => {
  for (const destroyFirst of [true, false]) {
    const world = new World().boot();
    const [worker] = world.living;
    const [running, waiting] = [world.send(), world.send()];
    if (destroyFirst) destroy(world);
    world.crash(worker);
    if (!destroyFirst) destroy(world);
    assert.equal(running.outcome.kind, destroyFirst ? "closed" : "crashed");
    assert.deepEqual(waiting.outcome, closed);
  }
});

test("run after destroy is refused with the reason, and starts nothing", () => {
  const world = new World();
  destroy(world);
  const task = world.send({ name: "nobody" });
  assert.deepEqual(task.outcome, closed);
  assert.equal(world.counts.started, 0);
});

test("close lets what runs and what waits finish, then ends the workers", () => {
  const world = new World().boot();
  const [worker] = world.living;
  const [first, second] = [world.send(), world.send()];
  assert.deepEqual(close(world), []);
  assert.deepEqual(types(world.answer(worker)), ["settle", "post"]);
  assert.deepEqual(types(world.answer(worker)), ["settle", "end", "closed"]);
  assert.equal(first.outcome.kind, "done");
  assert.equal(second.outcome.kind, "done");
});

test("close ends workers for which nothing is left to do, while others finish", () => {
  const world = new World({ size: 3 });
  world.happen({ type: "timePassed" });
  world.ready();
  world.ready();
  const task = world.send();
  close(world);
  assert.deepEqual([...world.living], [task.worker]);
});

test("close with nothing to do ends at once", () => {
  const world = new World({ size: 2 }).boot();
  assert.deepEqual(types(close(world)), ["end", "end", "closed"]);
});

test("run while closing is refused, and what was taken before is not", () => {
  const world = new World().boot();
  const task = world.send();
  close(world);
  assert.deepEqual(world.send().outcome, { kind: "closed" });
  assert.equal(task.state, "running");
});

test("close while booting: what waits is done first", () => {
  const world = new World();
  world.happen({ type: "timePassed" });
  const task = world.send();
  close(world);
  const worker = world.ready();
  world.answer(worker);
  assert.equal(task.outcome.kind, "done");
  assert.equal(world.phase, "closed");
});

test("closing with a crash: a worker is replaced if tasks wait for it", () => {
  const world = new World().boot();
  const [first, second] = [world.send(), world.send()];
  close(world);
  world.crash(first.worker);
  assert.equal(first.outcome.kind, "crashed");
  world.answer(world.ready());
  assert.equal(second.outcome.kind, "done");
  assert.equal(world.phase, "closed");
});

test("closing with a crash: a worker is not replaced if nothing waits, or another is there", () => {
  const world = new World({ size: 2 }).boot();
  const [first, second] = [world.send(), world.send()];
  const third = world.send();
  close(world);
  world.crash(first.worker);
  assert.equal(world.booting(), undefined);
  world.answer(second.worker);
  world.crash(third.worker);
  assert.equal(world.phase, "closed");
  assert.equal(world.counts.started, 2);
});

test("closing a pool whose workers cannot boot ends in the boot's error", () => {
  const world = new World({ bootAttempts: 1 });
  world.happen({ type: "timePassed" });
  const task = world.send();
  close(world);
  world.crash();
  assert.equal(task.outcome.kind, "unbootable");
  assert.equal(world.phase, "closed");
});

test("closing, a task that is told to stop is waited for no longer than the grace period", () => {
  const world = new World({ graceMs: 500 }).boot();
  world.abort(world.send());
  close(world);
  assert.equal(world.phase, "closing");
  world.pass();
  assert.equal(world.now, 500);
  assert.equal(world.phase, "closed");
});

test("destroy while closing settles the rest at once", () => {
  const world = new World().boot();
  const tasks = [world.send(), world.send()];
  close(world);
  destroy(world);
  for (const task of tasks) assert.deepEqual(task.outcome, closed);
});

test("a pool that is closing keeps its size", () => {
  const world = new World().boot();
  world.send();
  close(world);
  assert.deepEqual(world.happen({ type: "resized", size: 3 }), []);
});

test("close after destroy, and close twice, change nothing", () => {
  const world = new World().boot();
  close(world);
  assert.deepEqual(close(world), []);
  assert.deepEqual(destroy(world), []);
  assert.deepEqual(world.send().outcome, { kind: "closed" });
});
