/**
 * Running tasks in an interpreter that has booted.
 */

import { RuntimeBrokenError, TaskError } from "./protocol.js";

/** @import { ErrorMessage } from "./protocol.js" */

/**
 * The Python side: `answer` of handlers/browser.py.
 * @typedef {(task: string, payload: unknown, onProgress?: (value: number) => void)
 *   => {result: unknown} | {error: ErrorMessage}} Answer
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
 * with the task's result, rejects with a TaskError when the task failed, and with a
 * RuntimeBrokenError, from then on always, when the interpreter broke.
 * @param {Answer} answer
 * @param {() => Promise<boolean>} completed puts in place what an import of the last task lacked,
 *   and tells whether there was anything: then that task runs again
 * @returns {Run}
 */
export function runner(answer, completed) {
  /** @type {RuntimeBrokenError | undefined} */
  let broken;
  /** @type {Answer} */
  const ask = (task, payload, onProgress) => {
    if (broken) {
      throw broken;
    }
    try {
      return answer(task, payload, onProgress);
    } catch (thrown) {
      const error = pythonError(thrown);
      if (error) {
        return { error };
      }
      broken = new RuntimeBrokenError(`Python broke while it ran ${task}: ${thrown}`, {
        cause: thrown,
      });
      throw broken;
    }
  };
  /** @type {Run} */
  const run = async (task, payload, { onProgress } = {}) => {
    let highest = 0;
    /** @param {number} value */
    const report = (value) => {
      if (value >= highest) {
        highest = value;
        onProgress?.(value);
      }
    };
    let outcome = ask(task, payload, report);
    try {
      if (await completed()) {
        outcome = ask(task, payload, report);
      }
    } catch (thrown) {
      const error = pythonError(thrown);
      if (!error) {
        throw thrown;
      }
      outcome = { error };
    }
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

/**
 * An error that reached JavaScript past the bridge, such as an interrupt that came in its last
 * lines or just behind them.
 * @param {unknown} thrown
 * @returns {ErrorMessage | undefined} undefined when it is none of Python's, or a fatal one
 */
function pythonError(thrown) {
  const { type, message } = /** @type {{type?: unknown, message?: string}} */ (thrown);
  if (typeof type !== "string" || "pyodide_fatal_error" in /** @type {object} */ (thrown)) {
    return undefined;
  }
  // Pyodide's message is the whole traceback; its last line says what happened.
  const last = (message ?? "").trimEnd().split("\n").at(-1) ?? "";
  const told = last.startsWith(`${type}: `) ? last.slice(type.length + 2) : "";
  return { name: type, message: told, traceback: "" };
}
