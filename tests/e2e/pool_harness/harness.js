/**
 * What the pool's tests use in the page: pools that keep what they say, outcomes as plain JSON, and
 * after each test the ledger: every promise has settled once, every worker has been ended.
 */

import { WorkerPool } from "/modules/page/pool.js";

export * from "/modules/page/pool-errors.js";
export { TaskError } from "/modules/page/protocol.js";
export { WorkerPool };

/** A worker whose tasks are JavaScript, by task-server.js. */
export const TASKS = "/harness/tasks.js";
/** A worker that says and does what its `config` tells it to. */
export const RAW = "/harness/raw.js";

/** Milliseconds after which a test is told what its pools were about when it got stuck. */
const LONGEST = 60_000;

const OUTCOMES = [
  "done",
  "failed",
  "refused",
  "aborted",
  "timedOut",
  "crashed",
  "closed",
  "unbootable",
];

/** @type {Set<TestPool>} */
const pools = new Set();
/** Workers that have not been terminated. */
const alive = new Set();
/** URLs of the workers that were made, in order. */
export const spawned = [];

globalThis.Worker = class extends Worker {
  constructor(url, options) {
    super(url, options);
    spawned.push(String(url));
    alive.add(this);
  }

  terminate() {
    alive.delete(this);
    super.terminate();
  }
};

/** A pool of one worker, unless told otherwise, that keeps every event and every promise. */
export class TestPool extends WorkerPool {
  constructor({ onEvent, ...options } = {}) {
    /** @type {object[]} */
    const heard = [];
    const waiting = new Set();
    super({
      url: TASKS,
      size: 1,
      bootPause: 1,
      ...options,
      onEvent(happening) {
        heard.push(happening);
        for (const check of waiting) check(happening);
        onEvent?.(happening);
      },
    });
    this.heard = heard;
    this.waiting = waiting;
    /** @type {Promise<unknown>[]} */
    this.promises = [];
    pools.add(this);
  }

  run(...args) {
    const promise = super.run(...args);
    this.promises.push(promise.catch(() => {}));
    return promise;
  }

  /** Resolves with the first event, past or future, of a type and with these fields. */
  when(type, fields = {}) {
    const matches = (happening) =>
      happening.type === type &&
      Object.entries(fields).every(([key, value]) => happening[key] === value);
    return new Promise((resolve) => {
      const past = this.heard.find(matches);
      if (past) {
        resolve(past);
        return;
      }
      const check = (happening) => {
        if (!matches(happening)) return;
        this.waiting.delete(check);
        resolve(happening);
      };
      this.waiting.add(check);
    });
  }

  /** The events of some types, each as `type field field …`. */
  told(...types) {
    return this.heard
      .filter(({ type }) => types.includes(type))
      .map(({ type, id, worker, task, outcome, reason, ended }) =>
        [type, id, worker, task, outcome, reason, ended].filter((part) => part !== undefined).join(" "),
      );
  }
}

/** What a promise settles with, as plain JSON. */
export async function outcome(promise) {
  try {
    return { done: shown(await promise) };
  } catch (error) {
    return { failed: shown(error) };
  }
}

/** A value as JSON can show it; errors with all their fields. */
export function shown(value) {
  if (value === undefined || Object.is(value, -0) || Number.isNaN(value)) {
    return Object.is(value, -0) ? "-0" : String(value);
  }
  if (typeof value === "bigint" || typeof value === "function" || value === Infinity) {
    return String(value);
  }
  if (value instanceof Error || value instanceof DOMException) {
    const { name, message, cause, ...fields } = value;
    return {
      is: value.constructor.name,
      name: value.name,
      message: value.message,
      ...(value.cause !== undefined && { cause: shown(value.cause) }),
      ...shown(fields),
    };
  }
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
    return { bytes: value.byteLength };
  }
  if (Array.isArray(value)) return value.map(shown);
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shown(inner)]));
  }
  return value;
}

/** Holds back the task `hold` or `block` that gets its `cell`, until `open()`. */
export function newGate() {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  return {
    cell,
    open() {
      Atomics.store(cell, 0, 1);
      Atomics.notify(cell, 0);
    },
  };
}

/** A module worker from a URL, as `url` functions of a pool make one. */
export function newWorker(url) {
  return new Worker(url, { type: "module" });
}

/** Resolves when the browser has done everything that it has been told so far. */
export function turn() {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}

/**
 * Plays one test's scene, then destroys its pools and checks the ledger.
 * @param {() => Promise<unknown>} play
 */
export async function scene(play) {
  spawned.length = 0;
  try {
    return await intime(pools, () => balanced(play));
  } finally {
    for (const pool of pools) pool.destroy();
    pools.clear();
    alive.clear();
  }
}

/**
 * Plays, and when that gets stuck, says what the pools were about.
 * @param {Iterable<TestPool>} watched
 * @param {() => Promise<unknown>} play
 */
export async function intime(watched, play) {
  let timer;
  const stuck = new Promise((_, reject) => {
    timer = setTimeout(() => {
      const told = [...watched].map(({ stats, heard }) => ({ stats, heard: heard.slice(-12) }));
      reject(new Error(`stuck: ${JSON.stringify(told, null, 1)}`));
    }, LONGEST);
  });
  try {
    return await Promise.race([play(), stuck]);
  } finally {
    clearTimeout(timer);
  }
}

/** @param {() => Promise<unknown>} play */
async function balanced(play) {
  const result = await play();
  for (const pool of pools) {
    pool.destroy("the test is over");
    await Promise.all(pool.promises);
    checkLedger(pool);
  }
  if (alive.size > 0) throw new Error(`${alive.size} workers are still there`);
  return result;
}

/**
 * Whether every task of a pool that is closed was settled once.
 * @param {TestPool} pool
 * @throws {Error} if not
 */
export function checkLedger({ stats: { counts, queued, running }, heard, promises }) {
  const settled = heard.filter(({ type }) => type === "task-settled").map(({ id }) => id);
  const sent = heard.filter(({ type }) => type === "task-queued").map(({ id }) => id);
  const sum = OUTCOMES.reduce((total, name) => total + counts[name], 0);
  const balance = {
    sum: sum === counts.sent,
    promises: promises.length === counts.sent,
    once: new Set(settled).size === settled.length && settled.length === sent.length,
    none: queued === 0 && running === 0,
  };
  if (Object.values(balance).includes(false)) {
    throw new Error(`the ledger does not balance: ${JSON.stringify({ balance, counts, settled })}`);
  }
}
