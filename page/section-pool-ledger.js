import {
  BootError,
  PoolClosedError,
  QueueFullError,
  UnknownTaskError,
  WorkerCrashedError,
} from "./pool-errors.js";
import { TaskError } from "./protocol.js";

/** @typedef {"done" | "failed" | "refused" | "aborted" | "crashed" | "closed"} LedgerOutcome */

/**
 * Counts what was sent to a pool and how it ended, by the promises alone: what the pool says of
 * itself is not asked.
 */
export class Ledger {
  sent = 0;
  /** @type {Record<LedgerOutcome, number>} */
  outcomes = { done: 0, failed: 0, refused: 0, aborted: 0, crashed: 0, closed: 0 };
  #onSettled;

  /** @param {() => void} onSettled called after each promise */
  constructor(onSettled) {
    this.#onSettled = onSettled;
  }

  /** Promises that have settled. */
  get settled() {
    return Object.values(this.outcomes).reduce((sum, count) => sum + count, 0);
  }

  /**
   * Enters a task; it is never an unhandled rejection from then on.
   * @param {Promise<unknown>} promise
   */
  enter(promise) {
    this.sent += 1;
    const settle = (/** @type {LedgerOutcome} */ outcome) => {
      this.outcomes[outcome] += 1;
      this.#onSettled();
    };
    promise.then(
      () => settle("done"),
      (error) => settle(outcomeOf(error)),
    );
  }
}

/**
 * @param {unknown} error
 * @returns {LedgerOutcome}
 */
function outcomeOf(error) {
  if (error instanceof TaskError) return "failed";
  if (error instanceof QueueFullError || error instanceof UnknownTaskError) return "refused";
  if (error instanceof WorkerCrashedError) return "crashed";
  if (error instanceof PoolClosedError || error instanceof BootError) return "closed";
  return "aborted";
}
