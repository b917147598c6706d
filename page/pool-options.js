/** @import { Limits } from "./pool-state.js" */

/**
 * Reads the limits of a pool and fills in what was not given.
 * @param {Partial<Limits>} options
 * @returns {Limits}
 * @throws {TypeError} when a limit is no number
 * @throws {RangeError} when it makes no sense
 */
export function limitsOf(options) {
  return {
    size: size(options.size ?? defaultSize()),
    maxQueue: amount("maxQueue", options.maxQueue ?? 1000),
    bootTimeout: finite("bootTimeout", options.bootTimeout ?? 120_000),
    taskTimeout: amount("taskTimeout", options.taskTimeout ?? Number.POSITIVE_INFINITY),
    graceMs: finite("graceMs", options.graceMs ?? 500),
    maxTasksPerWorker: amount(
      "maxTasksPerWorker",
      options.maxTasksPerWorker ?? Number.POSITIVE_INFINITY,
      1,
    ),
    bootAttempts: whole("bootAttempts", options.bootAttempts ?? 3, 1),
    bootPause: finite("bootPause", options.bootPause ?? 250),
  };
}

/**
 * @param {number} workers
 * @returns {number} the same
 * @throws {TypeError | RangeError} when that is no number of workers
 */
export function size(workers) {
  if (whole("size", workers, 1) > MOST_WORKERS) {
    throw new RangeError(`size must be ${MOST_WORKERS} or less, not ${workers}`);
  }
  return workers;
}

/** More than any machine has use for; each one is a thread. */
const MOST_WORKERS = 64;

/**
 * @param {string} name
 * @param {unknown} value
 * @throws {TypeError} when it is given and cannot be called
 */
export function listener(name, value) {
  if (value !== undefined && typeof value !== "function") {
    throw new TypeError(`${name} must be a function, not ${typeof value}`);
  }
}

/**
 * How many workers fit this machine: a Python worker takes 60 to 160 MB, and the page needs a core
 * for itself.
 * @returns {number} 1 on a small machine, 4 on a large one, 2 on any other
 */
export function defaultSize() {
  const { hardwareConcurrency: cores = 2, deviceMemory: gigabytes = 4 } =
    /** @type {{hardwareConcurrency?: number, deviceMemory?: number}} */ (
      globalThis.navigator ?? {}
    );
  if (cores < 2 || gigabytes <= 2) return 1;
  return cores >= 8 && gigabytes >= 8 ? 4 : 2;
}

/**
 * @param {string} name
 * @param {number} value of a wait that must end, or a promise could hang
 * @returns {number} `value`
 */
function finite(name, value) {
  if (amount(name, value) === Number.POSITIVE_INFINITY) {
    throw new RangeError(`${name} must be finite: a promise could wait for ever`);
  }
  return value;
}

/**
 * @param {string} name
 * @param {number} value
 * @param {number} least
 * @returns {number} `value`
 */
function whole(name, value, least) {
  if (!Number.isInteger(amount(name, value, least))) {
    throw new RangeError(`${name} must be a whole number, not ${value}`);
  }
  return value;
}

/**
 * @param {string} name
 * @param {number} value
 * @param {number} [least]
 * @returns {number} `value`, which may be Infinity
 */
export function amount(name, value, least = 0) {
  if (typeof value !== "number") {
    throw new TypeError(`${name} must be a number, not ${typeof value}`);
  }
  if (!(value >= least)) {
    throw new RangeError(`${name} must be ${least} or more, not ${value}`);
  }
  return value;
}
