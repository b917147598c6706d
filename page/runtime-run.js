/**
 * Running tasks in an interpreter that has booted.
 */

import { RuntimeBrokenError, TaskError } from "./protocol.js";

/** @import { ErrorMessage } from "./protocol.js" */

/**
 * The Python side: handlers/browser.py.
 * @typedef {object} Bridge
 * @property {(task: string, payload: unknown, onProgress: (value: number) => void,
 *   settle: (outcome: Outcome) => void) => void} answer
 * @property {() => void} cancel cancels the task that awaits something, if there is one
 *
 * @typedef {{result: unknown} | {error: ErrorMessage}} Outcome
 */

/**
 * What a caller of `run` may give besides task and payload.
 * @typedef {object} RunOptions
 * @property {(value: number) => void} [onProgress] takes values from 0 to 1 that never fall
 * @property {AbortSignal} [signal] cancels the task wherever it awaits something
 *
 * @typedef {(task: string, payload: unknown, options?: RunOptions) => Promise<unknown>} Run
 */

/**
 * Makes `run` of a runtime, which does one task at a time, in the order of the calls. It settles
 * with the task's result, rejects with a TaskError when the task failed or was cancelled, and with a
 * RuntimeBrokenError, from then on always, when the interpreter broke.
 * @param {Bridge} bridge
 * @param {() => Promise<boolean>} completed puts in place what an import of the last task lacked,
 *   and tells whether there was anything: then that task runs again
 * @returns {Run}
 */
export function runner({ answer, cancel }, completed) {
  /** @type {RuntimeBrokenError | undefined} */
  let broken;

  /**
   * @param {string} task
   * @param {unknown} payload
   * @param {(value: number) => void} report
   * @param {AbortSignal | undefined} signal
   * @returns {Promise<Outcome>}
   */
  const ask = async (task, payload, report, signal) => {
    if (signal?.aborted) {
      return { error: CANCELLED };
    }
    const abort = () => cancel();
    signal?.addEventListener("abort", abort);
    try {
      return await new Promise((resolve, reject) => {
        try {
          // Pyodide may break after it has told the outcome, and then there is none.
          answer(task, payload, report, (outcome) => queueMicrotask(() => resolve(outcome)));
        } catch (thrown) {
          reject(thrown);
        }
      });
    } catch (thrown) {
      broken = new RuntimeBrokenError(`Python broke while it ran ${task}: ${thrown}`, {
        cause: thrown,
      });
      throw broken;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  };

  /** @type {Run} */
  const run = async (task, payload, { onProgress, signal } = {}) => {
    if (broken) {
      throw broken;
    }
    let highest = 0;
    /** @param {number} value */
    const report = (value) => {
      if (value >= highest) {
        highest = value;
        onProgress?.(value);
      }
    };
    let outcome = await ask(task, payload, report, signal);
    if ((await completed()) && !wasStopped(outcome)) {
      outcome = await ask(task, payload, report, signal);
    }
    highest = Number.POSITIVE_INFINITY;
    if ("error" in outcome) {
      throw new TaskError(outcome.error);
    }
    return outcome.result;
  };

  /** @type {Promise<unknown>} */
  let last = Promise.resolve();
  return (task, payload, options) => {
    const next = last.then(() => run(task, payload, options));
    last = next.catch(() => {});
    return next;
  };
}

/** @param {Outcome} outcome */
function wasStopped(outcome) {
  return "error" in outcome && ["CancelledError", "KeyboardInterrupt"].includes(outcome.error.name);
}

/** What a task that is given up before it begins is told, as one that is given up later. */
const CANCELLED = { name: "CancelledError", message: "", traceback: "" };
