/** The queue, against plain arrays: every queue that ever was stays as it was. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { TaskQueue } from "./core.mjs";

const SEED = process.env.POOL_SEED === "any" ? {} : { seed: Number(process.env.POOL_SEED ?? 20) };
const NEVER = Number.POSITIVE_INFINITY;

/** What to do next: to which of all queues so far, and with which task. */
const someSteps = fc.array(
  fc.record({
    which: fc.nat(),
    adds: fc.boolean(),
    lately: fc.boolean(),
    first: fc.boolean(),
    at: fc.nat(),
    priority: fc.constantFrom(0, 0, 0, 1, -1),
    deadline: fc.constantFrom(NEVER, NEVER, 5, 3, 9),
  }),
  { maxLength: 60 },
);

function same(queue, tasks) {
  assert.deepEqual([...queue], tasks);
  assert.equal(queue.length, tasks.length);
  assert.equal(queue.first, tasks[0]);
  assert.equal(queue.soonest, Math.min(NEVER, ...tasks.map(({ deadline }) => deadline)));
  for (const task of tasks) assert.equal(queue.find(task.id), task);
  assert.equal(queue.find(-1), undefined);
}

function added(tasks, task) {
  const behind = tasks.findIndex(({ priority }) => priority < task.priority);
  return behind < 0 ? [...tasks, task] : tasks.toSpliced(behind, 0, task);
}

/** @param {number} many tasks that lie in the first queue */
const holds = (many) =>
  fc.property(someSteps, (steps) => {
    let queue = new TaskQueue();
    let tasks = [];
    let id = 0;
    const next = (priority, deadline) => {
      id += 1;
      return { id, name: "echo", priority, timeout: deadline, deadline };
    };
    for (let left = many; left > 0; left -= 1) {
      const task = next(0, NEVER);
      queue = queue.with(task);
      tasks = added(tasks, task);
    }
    const all = [[queue, tasks]];
    for (const { which, adds, lately, first, at, priority, deadline } of steps) {
      [queue, tasks] = lately ? all[all.length - 1] : all[which % all.length];
      if (adds) {
        const task = next(priority, deadline);
        all.push([queue.with(task), added(tasks, task)]);
      } else if (tasks.length > 0) {
        const task = tasks[first ? 0 : at % tasks.length];
        all.push([queue.without(task), tasks.filter((other) => other !== task)]);
      }
    }
    for (const [is, should] of all) same(is, should);
  });

test("what is added and taken away, in any queue of a family", () => {
  fc.assert(holds(0), { numRuns: 2000, ...SEED });
});

test("the same with more tasks than a queue may waste places", () => {
  fc.assert(holds(100), { numRuns: 100, ...SEED });
});

test("all of many, one after another, from the front", () => {
  const many = Array.from({ length: 500 }, (_, at) => ({ id: at, priority: 0, deadline: at }));
  let queue = many.reduce((line, task) => line.with(task), new TaskQueue());
  for (const [at, task] of many.entries()) {
    same(queue, many.slice(at));
    queue = queue.without(task).with({ ...task, id: -2, deadline: NEVER });
    queue = queue.without([...queue].at(-1));
  }
  assert.equal(queue.length, 0);
});
