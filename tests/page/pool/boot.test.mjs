/** How workers come to be, and what becomes of a pool whose workers do not. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { mishap, TASKS, World } from "./world.mjs";

/** A pool whose first worker boots. */
function starting(limits) {
  const world = new World(limits);
  world.happen({ type: "timePassed" });
  return world;
}

/** @returns {object[]} the workers that were started by these effects */
const started = (effects) => effects.filter(({ type }) => type === "start");

test("workers start one after another, each when the one before is ready", () => {
  const world = starting({ size: 3 });
  const numbers = [];
  while (world.booting()) {
    assert.equal(world.with("booting").length, 1);
    numbers.push(world.ready().number);
  }
  assert.deepEqual(numbers, [1, 2, 3]);
});

test("a worker gets work only after it is ready", () => {
  const world = starting();
  const task = world.send();
  assert.equal(task.state, "waiting");
  world.ready();
  assert.equal(task.state, "running");
});

test("a worker that boots only on the third try does what waits", () => {
  const world = starting();
  const task = world.send();
  world.crash();
  world.pass();
  world.crash();
  world.pass();
  const worker = world.ready();
  assert.equal(worker.number, 3);
  assert.equal(task.state, "running");
});

test("each pause before another attempt is four times as long as the one before", () => {
  const world = starting({ bootAttempts: 4, bootPause: 250 });
  const pauses = [];
  for (let attempt = 1; attempt < 4; attempt += 1) {
    const failed = world.now;
    world.crash();
    assert.equal(world.living.size, 0);
    world.pass();
    assert.equal(world.living.size, 1);
    pauses.push(world.now - failed);
  }
  assert.deepEqual(pauses, [250, 1000, 4000]);
});

test("a boot that never works ends in one error for everyone and no further start", () => {
  const world = starting();
  const tasks = [world.send(), world.send()];
  const error = mishap("the last one");
  world.crash();
  world.pass();
  world.crash();
  world.pass();
  world.crash(world.booting(), error);
  for (const task of tasks) {
    assert.deepEqual(task.outcome, { kind: "unbootable", attempts: 3, error });
  }
  assert.equal(world.phase, "closed");
  assert.equal(world.send().outcome, tasks[0].outcome);
  world.wait(1_000_000);
  assert.deepEqual(world.happen({ type: "timePassed" }), []);
  assert.equal(world.counts.started, 3);
});

test("the attempts of all places count together while no worker is there", () => {
  const world = starting({ size: 4 });
  world.crash();
  world.crash();
  assert.equal(world.phase, "open");
  world.crash();
  assert.equal(world.phase, "closed");
  assert.equal(world.counts.started, 3);
});

test("a worker that never gets ready is given up when its time is over", () => {
  const world = starting({ bootTimeout: 100, bootAttempts: 1 });
  const task = world.send();
  world.wait(99);
  assert.deepEqual(world.happen({ type: "timePassed" }), []);
  world.wait(1);
  world.happen({ type: "timePassed" });
  assert.equal(task.outcome.kind, "unbootable");
  assert.match(task.outcome.error.message, /100 ms/);
});

test("a worker that is given up and says that it is ready gets nothing", () => {
  const world = starting({ bootTimeout: 100 });
  const late = world.booting();
  world.pass();
  assert.equal(late.state, "dead");
  world.ready(TASKS, late);
  assert.equal(world.send().state, "waiting");
});

test("a worker that dies between ready and its first task is replaced after a pause", () => {
  const world = starting();
  world.crash(world.ready());
  const task = world.send();
  assert.equal(world.living.size, 0);
  world.pass();
  assert.equal(world.now, 10);
  world.ready();
  assert.equal(task.state, "running");
});

test("workers that die of nothing, each right after it was ready, are not replaced for ever", () => {
  const world = starting();
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    world.pass();
    world.crash(world.ready());
  }
  assert.equal(world.phase, "closed");
  assert.equal(world.counts.started, 3);
});

test("a worker that has answered and then dies of nothing is replaced at once", () => {
  const world = new World().boot();
  const [worker] = world.living;
  world.send();
  world.answer(worker);
  assert.equal(started(world.crash(worker)).length, 1);
});

test("a place whose workers cannot boot is given up while another goes on", () => {
  const world = starting({ size: 2, bootAttempts: 2 });
  const worker = world.ready();
  world.crash();
  world.pass();
  world.crash();
  world.pass();
  assert.deepEqual([...world.living], [worker]);
  assert.equal(world.phase, "open");
  const task = world.send();
  world.answer(worker);
  assert.equal(task.outcome.kind, "done");
});

test("another size is another try for a place that was given up", () => {
  const world = starting({ size: 2, bootAttempts: 1 });
  world.ready();
  world.crash();
  assert.equal(world.living.size, 1);
  assert.equal(started(world.happen({ type: "resized", size: 2 })).length, 1);
});

test("the last worker leaves a pool whose other places were given up: they are tried anew", () => {
  const world = new World({ size: 2, bootAttempts: 1 }).boot();
  world.send();
  world.send();
  world.happen({ type: "resized", size: 1 });
  world.crash([...world.living].find(({ leaving }) => !leaving));
  world.crash(world.booting());
  const task = world.send();
  world.answer(world.with("busy")[0]);
  world.ready();
  assert.equal(task.state, "running");
});

test("a pool gives up only when no worker lives that has been ready", () => {
  const world = starting({ size: 2, bootAttempts: 1 });
  const worker = world.ready();
  const task = world.send();
  world.crash();
  assert.equal(world.phase, "open");
  world.crash(worker);
  assert.equal(task.outcome.kind, "crashed");
  world.crash();
  assert.equal(world.phase, "closed");
});

test("attempts that failed before a worker was ready do not count against later ones", () => {
  const world = starting({ bootAttempts: 2 });
  world.crash();
  world.pass();
  const worker = world.ready();
  world.send();
  world.crash(worker);
  world.crash();
  assert.equal(world.phase, "open");
  world.pass();
  world.ready();
});

test("attempts that failed while a worker was there do not count against its successor", () => {
  const world = starting({ size: 2, bootAttempts: 2 });
  const worker = world.ready();
  world.crash();
  world.pass();
  world.crash();
  world.send();
  world.crash(worker);
  world.crash();
  assert.equal(world.phase, "open");
  world.pass();
  assert.equal(world.ready().number, 5);
});

test("the task names of the first worker are those of the pool", () => {
  const world = starting({ size: 2 });
  world.ready(["square"]);
  world.ready(["other"]);
  assert.deepEqual(world.send({ name: "other" }).outcome.known, ["square"]);
});
