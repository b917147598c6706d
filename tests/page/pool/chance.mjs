/**
 * Random pools, and random things that happen to them: the likely, the rare, and what no sound
 * browser or worker would do.
 */

import fc from "fast-check";
import { nextDeadline } from "./core.mjs";
import { mishap, TASKS, World } from "./world.mjs";

const NEVER = Number.POSITIVE_INFINITY;

/** Limits near the edge, where the rules differ from one another. */
export const someLimits = fc.record({
  size: fc.integer({ min: 1, max: 4 }),
  maxQueue: fc.constantFrom(3, 0, 1, 2, 6, NEVER),
  bootTimeout: fc.constantFrom(NEVER, 40, 0),
  taskTimeout: fc.constantFrom(NEVER, 20, 5, 0),
  graceMs: fc.constantFrom(10, 0, NEVER),
  maxTasksPerWorker: fc.constantFrom(NEVER, 1, 2),
  bootAttempts: fc.integer({ min: 1, max: 3 }),
  bootPause: fc.constantFrom(10, 0),
});

/**
 * What may happen, each with two numbers that say which task, which worker, what answer. All take
 * what there is in the world at that moment, so that any part of a sequence is a sequence too, and a
 * failing one can be made shorter. Before each stands how often it happens when all is well, when
 * many workers die, and when tasks are long and the number of workers changes.
 * @type {[number, number, number, (world: World, a: number, b: number) => void][]}
 */
const HAPPENINGS = [
  [12, 10, 16, send],
  [10, 6, 10, (world, a) => world.booting() && world.ready(a % 8 ? TASKS : ["other"])],
  [10, 5, 2, (world, a, b) => give(world, pick(world.with("busy"), a), b)],
  [1, 6, 5, (world) => world.booting() && world.crash()],
  [1, 4, 3, (world, a, b) => die(world, pick([...world.living], a), b)],
  [4, 2, 2, (world, a) => abort(world, pick(world.open(), a)?.id ?? 0, a)],
  [4, 6, 4, (world) => world.pass()],
  [2, 2, 2, (world) => world.pass(1)],
  [3, 2, 1, waitForDeadline],
  [2, 2, 1, (world, a) => world.wait(1 + (a % 7))],
  [1, 1, 1, (world) => world.happen({ type: "timePassed" })],
  [2, 1, 1, progress],
  [2, 2, 2, resume],
  [1, 1, 8, (world, a) => world.happen({ type: "resized", size: 1 + (a % 4) })],
  [2, 1, 1, (world, a) => refuseToClone(world, pick(world.with("busy"), a)?.task)],
  [1, 1, 1, (world, a) => refuseToClone(world, pick(world.line, a))],
  // What should not be.
  [1, 1, 1, (world, a, b) => refuseToClone(world, { id: someId(world, a + b) })],
  [2, 2, 1, (world, a, b) => answer(world, someWorker(world, a), someId(world, b), a)],
  [1, 1, 1, (world, a) => world.ready(TASKS, { number: someWorker(world, a) })],
  [1, 1, 1, (world, a, b) => die(world, { number: someWorker(world, a) }, b)],
  [1, 1, 1, (world, a, b) => abort(world, someId(world, a), b)],
];

/** These end most of what could happen, so they are rare. */
const ENDINGS = [
  (world) => world.happen({ type: "closing" }),
  (world, a) => world.happen({ type: "destroyed", reason: `reason ${a}` }),
  (world) => world.happen({ type: "closing" }),
];
const RARE = 100;

const TABLES = [0, 1, 2].map((mood) =>
  HAPPENINGS.flatMap((row) => Array(/** @type {number} */ (row[mood])).fill(row[3])),
);

/** Sequences of what happens, each in its mood; `play` lets it happen. */
export const someSequence = fc.record({
  mood: fc.nat(TABLES.length - 1),
  numbers: fc.array(fc.nat(2 ** 31 - 1), { maxLength: 60, size: "max" }),
});

/**
 * @param {object} limits
 * @param {{mood: number, numbers: number[]}} sequence
 * @returns {World} as it is afterwards
 */
export function play(limits, { mood, numbers }) {
  const world = new World(limits);
  world.happen({ type: "timePassed" });
  for (const number of numbers) {
    const rare = number % RARE;
    const rest = Math.floor(number / RARE);
    const table = rare < 99 ? TABLES[mood] : ENDINGS;
    const happening = table[rest % table.length];
    happening(world, Math.floor(rest / 101) % 64, Math.floor(rest / 6007) % 64);
  }
  return world;
}

function send(world, a, b) {
  world.send({
    name: a % 9 === 8 ? "nobody" : TASKS[a % 2],
    priority: [0, 0, 0, 1, -1, NEVER][b % 6],
    timeout: [NEVER, NEVER, 20, 5, 0][(a + b) % 5],
    ...(a === 63 && { aborted: { kind: "aborted", reason: "before" } }),
  });
}

/** Falsy results are results. */
const RESULTS = [1, 0, false, "", null, undefined, Number.NaN];

function give(world, worker, b) {
  if (worker) answer(world, worker.number, worker.task.id, b);
}

function answer(world, worker, id, b) {
  const outcome =
    b % 3 === 2
      ? { kind: "failed", error: mishap(`failed ${b}`) }
      : { kind: "done", result: RESULTS[b % RESULTS.length] };
  world.happen({ type: "answered", worker, id, outcome });
}

function die(world, worker, b) {
  if (!worker) return;
  if (b % 2) world.happen({ type: "exited", worker: worker.number });
  else world.crash(worker, mishap(`died ${b}`));
}

function abort(world, id, a) {
  world.happen({ type: "aborted", id, reason: `reason ${a}` });
}

/** The time comes, and something else is faster than the timer. */
function waitForDeadline(world) {
  const deadline = nextDeadline(world.state);
  if (deadline < NEVER) world.now = Math.max(world.now, deadline);
}

function progress(world, a, b) {
  const worker = pick(world.with("busy"), a);
  const rare = !worker || b % 4 === 0;
  world.happen({
    type: "progressed",
    worker: rare ? someWorker(world, a) : worker.number,
    id: rare ? someId(world, b) : worker.task.id,
    value: 0.5,
  });
}

function resume(world, a) {
  world.wait(a);
  world.happen({ type: "resumed", away: a });
}

function refuseToClone(world, task) {
  if (task) world.happen({ type: "unsendable", id: task.id, error: mishap("not clonable") });
}

function pick(list, a) {
  return list[a % list.length];
}

/** A task of any state, or one that never was. */
const someId = (world, a) => a % (world.tasks.size + 2);

/** A worker of any state, or one that never was; workers are numbered from 1. */
const someWorker = (world, a) => 1 + (a % (world.workers.size + 1));
