/**
 * What takes how long, on subjects that stay open from the first round to the last.
 */

import { leak } from "./leak.js";
import { outcome } from "./outcome.js";

/** @import { Adapter, Subject } from "./subject.js" */

const MEGABYTE = 1_000_000;
const PAUSE_MS = 20;

/** @type {Map<string, Subject>} */
const open = new Map();

/**
 * @param {string} name
 * @returns {Promise<Adapter>}
 */
async function adapterOf(name) {
  return (await import(new URL(`${name}.js`, document.baseURI).href)).adapter;
}

/**
 * The subject with that many workers, all of them running.
 * @param {string} name
 * @param {number} workers
 * @returns {Promise<Subject>}
 */
async function subjectOf(name, workers) {
  const key = `${name} ${workers}`;
  const known = open.get(key);
  if (known) return known;
  const subject = (await adapterOf(name)).create({ workers, maxQueue: 10_000 });
  await Promise.all(Array.from({ length: 10 * workers }, () => subject.run("pause", 50)));
  open.set(key, subject);
  return subject;
}

/**
 * Milliseconds per task that does nothing, as many at a time as there are workers.
 * @param {Subject} subject
 * @param {Kind} kind
 */
async function oneByOne(subject, { workers, count }) {
  const chain = async () => {
    for (let left = count / workers; left > 0; left -= 1) await subject.run("noop");
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: workers }, chain));
  return (performance.now() - began) / count;
}

/**
 * Milliseconds per task that does nothing, all of them sent at once.
 * @param {Subject} subject
 * @param {Kind} kind
 */
async function allAtOnce(subject, { count }) {
  const began = performance.now();
  await Promise.all(Array.from({ length: count }, () => subject.run("noop")));
  return (performance.now() - began) / count;
}

/**
 * Milliseconds until a worker has told the length of so many megabytes.
 * @param {Subject} subject
 * @param {Kind} kind
 * @throws {Error} when the length is another
 */
async function moved(subject, { megabytes, transferred }) {
  const bytes = new Uint8Array(megabytes * MEGABYTE).fill(1);
  // Giving back what came before takes longer than a transfer, and goes on beside it.
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  const options = transferred ? { transfer: [bytes.buffer] } : {};
  const began = performance.now();
  const length = await subject.run("bytes", bytes, options);
  const ms = performance.now() - began;
  if (length !== megabytes * MEGABYTE) throw new Error(`${length} bytes arrived`);
  return ms;
}

const WAYS = { oneByOne, allAtOnce, moved };

/**
 * @typedef {object} Kind
 * @property {keyof typeof WAYS} way
 * @property {number} workers
 * @property {number} count tasks, of `oneByOne` and `allAtOnce`
 * @property {number} megabytes of `moved`
 * @property {boolean} transferred of `moved`
 */

/**
 * One round: the subjects take turns, several passes each, and the best pass of each counts, because
 * what other programs do to a pass only ever makes it slower.
 * @param {{names: string[], passes: number, kind: Kind}} given
 * @returns {Promise<Record<string, number>>} milliseconds by subject
 */
export async function round({ names, passes, kind }) {
  /** @type {Record<string, number>} */
  const best = {};
  for (let pass = 0; pass < passes; pass += 1) {
    for (const name of names) {
      const ms = await WAYS[kind.way](await subjectOf(name, kind.workers), kind);
      best[name] = Math.min(ms, best[name] ?? Number.POSITIVE_INFINITY);
    }
  }
  return best;
}

/**
 * Moves of several kinds in turn, whose order turns round from pass to pass, and so does the order of
 * the subjects: what the move before left behind meets every kind and subject alike. The best of some
 * tries counts, as in `round`.
 * @param {{names: string[], passes: number, tries: number, kinds: Kind[]}} given
 * @returns {Promise<Record<string, number>[][]>} of each pass and kind, milliseconds by subject
 */
export async function moves({ names, passes, tries, kinds }) {
  const seen = [];
  let turn = 0;
  for (let pass = 0; pass < passes; pass += 1) {
    /** @type {Record<string, number>[]} */
    const best = kinds.map(() => ({}));
    const order = [...kinds.keys()];
    if (pass % 2 === 1) order.reverse();
    for (let each = 0; each < tries; each += 1) {
      for (const number of order) {
        const kind = kinds[number];
        turn += 1;
        for (const at of names.keys()) {
          const name = names[(at + turn) % names.length];
          const ms = await moved(await subjectOf(name, kind.workers), kind);
          best[number][name] = Math.min(ms, best[number][name] ?? Number.POSITIVE_INFINITY);
        }
      }
      turn += 1;
    }
    seen.push(best);
  }
  return seen;
}

/**
 * Kills the only worker of a new subject while tasks wait: how many promises settle within the limit,
 * and milliseconds until the last of those did.
 * @param {{name: string, task: string, waiting: number, limit: number}} given
 * @returns {Promise<{settled: number, ms: number}>}
 */
export async function killed({ name, task, waiting, limit }) {
  const subject = (await adapterOf(name)).create({ workers: 1, maxQueue: waiting });
  await subject.run("noop");
  const all = [task, ...Array(waiting).fill("noop")].map((each) =>
    outcome(() => subject.run(each), limit),
  );
  const settled = (await Promise.all(all)).filter(({ state }) => state !== "hangs");
  await outcome(() => subject.destroy(), limit);
  return { settled: settled.length, ms: Math.max(0, ...settled.map(({ ms }) => ms)) };
}

const lasting = new AbortController();

/**
 * Tasks of every kind through the pool here: done, failed, refused, given up while they wait, with
 * buffers, and one signal for all of them.
 * @param {{count: number, leaking: boolean}} given how many, and whether page and worker each keep
 *   some 50 bytes a task
 */
export async function worn({ count, leaking }) {
  const subject = await subjectOf("ours", 1);
  const { signal } = lasting;
  for (let sent = 0; sent < count; sent += 5) {
    const bytes = new Uint8Array(20_000);
    const short = new AbortController();
    const all = [
      subject.run(leaking ? "leak" : "noop", 5, { signal }),
      subject.run("outOfRange", undefined, { signal }),
      subject.run("echo", bytes, { transfer: [bytes.buffer], signal }),
      subject.run("no-such-task", undefined, { signal }),
      subject.run("noop", undefined, { signal: short.signal }),
    ];
    short.abort();
    await Promise.allSettled(all);
    if (leaking) leak(5);
  }
}
