/**
 * A leak made on purpose, on the page or in a worker: whoever looks for leaks must find this one.
 */

/** @type {unknown[]} */
const kept = [];

/**
 * Keeps about 50 bytes for good, so many times: 16 of an array, 32 of its elements, 4 of its place.
 * @param {number} times
 */
export function leak(times) {
  for (let left = times; left > 0; left -= 1) kept.push(new Array(6).fill(left));
}
