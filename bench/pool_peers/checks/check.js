/**
 * What a check is, and the words of its verdict.
 */

import { outcome } from "../outcome.js";

/**
 * @import { Outcome } from "../outcome.js"
 * @import { Adapter, Options, Subject } from "../subject.js"
 */

/**
 * @typedef {object} Verdict
 * @property {string} verdict `ok`, `HANGS`, or what happened instead
 * @property {string} [detail] what may differ between runs: times and numbers
 *
 * @typedef {object} Check
 * @property {string} title
 * @property {boolean} [alone] keeps a core busy, so nothing else may run beside it
 * @property {(adapter: Adapter) => Promise<Verdict>} run
 */

/**
 * @param {string} [detail]
 * @returns {Verdict}
 */
export const ok = (detail) => ({ verdict: "ok", detail });

/**
 * @param {string} verdict
 * @param {string} [detail]
 * @returns {Verdict}
 */
export const wrong = (verdict, detail) => ({ verdict, detail });

export const NOT_OFFERED = wrong("not offered");

/** @param {number} value */
export const ms = (value) => `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;

/**
 * A subject whose workers have all answered once.
 * @param {Adapter} adapter
 * @param {Partial<Options>} [options]
 * @returns {Promise<Subject>}
 * @throws {Error} when it does not start
 */
export async function started(adapter, options) {
  const subject = adapter.create({ workers: 1, ...options });
  const first = await outcome(() => subject.run("noop"), 10_000);
  if (first.state !== "resolved") {
    throw new Error(`The first task ended thus: ${first.state}, ${first.error}`);
  }
  return subject;
}

/**
 * The verdict on a task that must be rejected.
 * @param {Outcome} seen
 * @param {(error: unknown) => boolean} [hasReason]
 * @returns {Verdict}
 */
export function rejected(seen, hasReason = () => true) {
  switch (seen.state) {
    case "hangs":
      return wrong("HANGS");
    case "resolved":
      return wrong(`resolves to ${String(seen.value)}`);
    case "threw":
      return wrong("throws instead of rejecting");
    case "rejected":
      return hasReason(seen.error) ? ok() : wrong("rejects, reason lost");
  }
}

/**
 * The verdict on a task that must be done.
 * @param {Outcome} seen
 * @returns {Verdict}
 */
export function done(seen) {
  switch (seen.state) {
    case "hangs":
      return wrong("HANGS");
    case "resolved":
      return ok();
    default:
      return wrong("rejects");
  }
}

/**
 * A verdict, unless the subject can do no further task: then that.
 * @param {Verdict} verdict
 * @param {Subject} subject
 * @returns {Promise<Verdict>}
 */
export async function andUsable(verdict, subject) {
  const next = await outcome(() => subject.run("echo", "next"));
  if (next.state === "resolved" && next.value === "next") {
    return verdict;
  }
  const after = next.state === "hangs" ? "the next task HANGS" : "the next task fails";
  return wrong(verdict.verdict === "ok" ? after : `${verdict.verdict}, ${after}`, verdict.detail);
}
