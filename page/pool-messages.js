/**
 * Reads the parts of a worker's messages that the pool relies on. Any script can be a worker of a
 * pool, so what it says may be anything; a pool must not stumble over it.
 */

/** @import { ErrorMessage } from "./protocol.js" */

/** Causes below this are left out: an error may be its own cause. */
const DEEPEST_CAUSE = 8;

/**
 * @param {unknown} error what a worker says went wrong
 * @param {number} [depth] how many errors this one is the cause of
 * @returns {ErrorMessage} with every field that there must be
 */
export function errorFrom(error, depth = 0) {
  const { name, message, traceback, code, details, cause } = Object(error);
  return {
    name: text(name, "Error"),
    message: text(message, text(error, "The worker did not say what went wrong")),
    traceback: text(traceback, ""),
    ...(typeof code === "string" && { code }),
    ...(typeof details === "object" && details && { details }),
    ...(cause !== undefined && depth < DEEPEST_CAUSE && { cause: errorFrom(cause, depth + 1) }),
  };
}

/**
 * @param {unknown} tasks what a worker says that it can do
 * @returns {tasks is string[]}
 */
export function areNames(tasks) {
  return Array.isArray(tasks) && tasks.every((name) => typeof name === "string");
}

/**
 * @param {unknown} value
 * @param {string} otherwise
 */
function text(value, otherwise) {
  return typeof value === "string" ? value : otherwise;
}
