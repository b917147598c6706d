/**
 * How a promise ended, or that it did not.
 */

/** Milliseconds after which a promise counts as hanging. */
export const LIMIT = 2000;
/** The same while workers do not start: a pool that tries again, with pauses, takes its time. */
export const BOOT_LIMIT = 4000;

/**
 * @typedef {object} Outcome
 * @property {"resolved" | "rejected" | "threw" | "hangs"} state `threw`: before there was a promise
 * @property {unknown} [value]
 * @property {unknown} [error]
 * @property {number} ms from the call to the end
 */

/**
 * Calls `start` and waits for what it returns, at most for the limit. Never throws.
 * @param {() => unknown} start
 * @param {number} [limit]
 * @returns {Promise<Outcome>}
 */
export async function outcome(start, limit = LIMIT) {
  const began = performance.now();
  const ms = () => performance.now() - began;
  /** @type {unknown} */
  let promise;
  try {
    promise = start();
  } catch (error) {
    return { state: "threw", error, ms: ms() };
  }
  return await new Promise((resolve) => {
    const timer = setTimeout(() => resolve({ state: "hangs", ms: ms() }), limit);
    /** @param {Omit<Outcome, "ms">} end */
    const end = (end) => {
      clearTimeout(timer);
      resolve({ ...end, ms: ms() });
    };
    Promise.resolve(promise).then(
      (value) => end({ state: "resolved", value }),
      (error) => end({ state: "rejected", error }),
    );
  });
}

/**
 * Whether an error, or one that caused it, says a word.
 * @param {unknown} error
 * @param {string} word
 * @returns {boolean}
 */
export function tells(error, word) {
  for (let depth = 0, at = error; depth < 5 && at !== undefined && at !== null; depth += 1) {
    const { message = at, cause } = /** @type {{message?: unknown, cause?: unknown}} */ (at);
    if (String(message).includes(word)) {
      return true;
    }
    at = cause;
  }
  return false;
}
