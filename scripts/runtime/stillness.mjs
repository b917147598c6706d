/**
 * Clocks and randomness that give the same values in every build, so that a memory snapshot has
 * the same bytes whenever and wherever it is made.
 */

import crypto from "node:crypto";

const START = 1_700_000_000_000;

/**
 * Runs `work` while time goes on by a thousandth of a second each time that somebody looks, and
 * while every random byte is 42.
 * @template T
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function inStillness(work) {
  let looks = 0;
  const { now } = Date;
  const { randomFillSync } = crypto;
  const performanceNow = performance.now;
  Date.now = () => START + ++looks;
  performance.now = () => ++looks;
  crypto.randomFillSync = /** @type {typeof randomFillSync} */ (
    (/** @type {Uint8Array} */ view) => view.fill(42)
  );
  try {
    return await work();
  } finally {
    Date.now = now;
    performance.now = performanceNow;
    crypto.randomFillSync = randomFillSync;
  }
}
