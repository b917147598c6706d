/**
 * The tasks that every subject's worker knows. They are the same functions everywhere; only what
 * carries the messages differs.
 */

import { leak } from "../leak.js";

/** @param {number} ms */
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const never = () => new Promise(() => {});

/** @type {Record<string, unknown>} */
const THROWN = { empty: "", zero: 0, undefined: undefined, text: "sss" };
let ordered = 0;
let atOnce = 0;

export const tasks = {
  noop() {},
  /** @param {unknown} value */
  echo: (value) => value,
  /** @param {Uint8Array} buffer */
  bytes: (buffer) => buffer.byteLength,
  pause,
  leak,

  /** @param {string} kind */
  throws(kind) {
    throw THROWN[kind];
  },
  /** @param {string} kind */
  async rejects(kind) {
    throw THROWN[kind];
  },
  outOfRange() {
    throw new RangeError("boom");
  },
  withCause() {
    throw new Error("outer", { cause: new TypeError("inner") });
  },
  unclonable: () => () => {},
  /** Says things that nobody asked for, then answers. */
  chatters() {
    for (const message of [null, "text", 7, { id: -1 }, { type: "done", id: -1, result: 1 }]) {
      self.postMessage(message);
    }
    return "answer";
  },

  /** An error outside every promise, in the middle of a task. */
  crash() {
    setTimeout(() => {
      throw new Error("boom");
    });
    return never();
  },
  /** A rejection that nobody handles, in the middle of a task. */
  unhandled() {
    Promise.reject(new Error("boom"));
    return never();
  },
  close() {
    self.close();
    return never();
  },
  never,
  /** @param {number} ms */
  spin(ms) {
    const end = performance.now() + ms;
    while (performance.now() < end);
  },

  /** Its place in the order in which this worker began such tasks. */
  place: () => ordered++,
  /** How many of its kind were under way in this worker when it ended. */
  async together() {
    atOnce += 1;
    await pause(5);
    const seen = atOnce;
    await pause(5);
    atOnce -= 1;
    return seen;
  },
};
