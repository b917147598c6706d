/** The tasks that the pool runs by name. A file like this one is all that a worker is. */

import { javascriptTasks, serveTasks } from "./pool/task-server.js";

/** Numbers looked at before the worker listens whether it is to stop. */
const STRETCH = 20_000;

/**
 * Counts the primes below a number.
 * @param {{below: number}} payload
 * @param {{onProgress: (value: number) => void, signal: AbortSignal}} options
 */
async function primes({ below }, { onProgress, signal }) {
  let count = 0;
  for (let from = 2; from < below; from += STRETCH) {
    const to = Math.min(from + STRETCH, below);
    for (let number = from; number < to; number += 1) {
      if (isPrime(number)) count += 1;
    }
    onProgress(to / below);
    await messages();
    signal.throwIfAborted();
  }
  return count;
}

/** @param {number} number 2 or more */
function isPrime(number) {
  for (let factor = 2; factor * factor <= number; factor += 1) {
    if (number % factor === 0) return false;
  }
  return true;
}

/** Lets the messages in that have come meanwhile. */
function messages() {
  return new Promise((resolve) => setTimeout(resolve));
}

function crash() {
  setTimeout(() => {
    throw new Error("This worker was to crash.");
  });
  return new Promise(() => {});
}

serveTasks(javascriptTasks({ primes, crash }));
