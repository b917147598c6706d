/**
 * What `WorkerPool.run` and `WorkerPool.ready` reject with, besides the task's own TaskError, the
 * reason of an aborted signal, and the browser's DataCloneError.
 */

import { TaskError } from "./protocol.js";

/** @import { Ended, Outcome } from "./pool-state.js" */

/**
 * As many tasks wait as may wait. Nothing was sent, and no buffer is detached: wait for one of the
 * others to settle and try again, or show that it is too much at once.
 */
export class QueueFullError extends Error {
  name = "QueueFullError";
  /**
   * @param {number} queued tasks that wait
   * @param {number} maxQueue tasks that may wait
   */
  constructor(queued, maxQueue) {
    super(`${queued} tasks wait already, and no more than ${maxQueue} may: try again later`);
    this.queued = queued;
    this.maxQueue = maxQueue;
  }
}

/**
 * The workers have no task of this name. Once a worker has been ready, that is known without asking
 * one; a task that was queued before is refused then. `known` has the right names.
 */
export class UnknownTaskError extends Error {
  name = "UnknownTaskError";
  /**
   * @param {string} task
   * @param {string[]} known
   */
  constructor(task, known) {
    super(`There is no task named ${task}. Known tasks: ${known.join(", ") || "none"}`);
    this.task = task;
    this.known = known;
  }
}

/**
 * The worker died while it ran this task; another worker takes its place. Whether the task had an
 * effect is unknown. Send it again only if it may run twice, and not for ever: it may be what the
 * worker died of. `cause` says what was seen of the death.
 */
export class WorkerCrashedError extends Error {
  name = "WorkerCrashedError";
  /**
   * @param {number} worker its number
   * @param {string} task
   * @param {TaskError} cause
   */
  constructor(worker, task, cause) {
    super(`Worker ${worker} died while it ran ${task}: ${cause.message}`, { cause });
    this.worker = worker;
    this.task = task;
  }
}

/**
 * No worker could boot, in several attempts. The pool is closed. `cause` is what the last attempt
 * failed of: a missing file, a policy, a browser that cannot do it. Make a new pool once that is
 * mended.
 */
export class BootError extends Error {
  name = "BootError";
  /**
   * @param {number} attempts
   * @param {TaskError} cause
   */
  constructor(attempts, cause) {
    super(`No worker could start in ${attempts} attempts: ${cause.message}`, { cause });
    this.attempts = attempts;
  }
}

/**
 * The task was not answered in time. `limit` says which time: `timeout`, counted from `run`, or
 * `taskTimeout`, counted from its start in a worker. `ended` says how it ended: `waiting` (it never
 * started), `interrupted` (it stopped, and its worker goes on), `finished` (its result came in the
 * grace period and was dropped), `terminated` (it did not stop, so its worker was ended and replaced).
 */
export class TaskTimeoutError extends Error {
  name = "TaskTimeoutError";
  /**
   * @param {string} task
   * @param {"timeout" | "taskTimeout"} limit
   * @param {number} ms
   * @param {Ended} ended
   */
  constructor(task, limit, ms, ended) {
    super(`${task} was not done within ${ms} ms (${limit}): ${HOW[ended]}`);
    this.task = task;
    this.limit = limit;
    this.ms = ms;
    this.ended = ended;
  }
}

const HOW = {
  waiting: "it was still waiting for a worker",
  interrupted: "it was interrupted, and its worker goes on",
  finished: "it came to its end too late, and its worker goes on",
  terminated: "it could not be interrupted, so its worker was ended",
};

/**
 * The pool is closed or closing: by `close`, which lets tasks finish that were queued before, or by
 * `destroy`, whose reason is the `cause`. Make a new pool.
 */
export class PoolClosedError extends Error {
  name = "PoolClosedError";
  /** @param {unknown} [cause] */
  constructor(cause) {
    super("The pool is closed and takes no more tasks", cause === undefined ? {} : { cause });
  }
}

/**
 * What the caller of a task that was not done gets to see.
 * @param {string} task
 * @param {Exclude<Outcome, {kind: "done"}>} outcome
 * @returns {unknown} an Error, except for an aborted signal's reason
 */
export function errorOf(task, outcome) {
  switch (outcome.kind) {
    case "failed":
      return new TaskError(outcome.error);
    case "refused":
      return refusal(outcome);
    case "aborted":
      return outcome.reason;
    case "timedOut":
      return new TaskTimeoutError(task, outcome.limit, outcome.ms, outcome.ended);
    case "crashed":
      return new WorkerCrashedError(outcome.worker, outcome.task, new TaskError(outcome.error));
    case "closed":
      return new PoolClosedError(outcome.reason);
    case "unbootable":
      return new BootError(outcome.attempts, new TaskError(outcome.error));
  }
}

/** @param {Extract<Outcome, {kind: "refused"}>} outcome */
function refusal(outcome) {
  switch (outcome.why) {
    case "full":
      return new QueueFullError(outcome.queued, outcome.maxQueue);
    case "unknown":
      return new UnknownTaskError(outcome.task, outcome.known);
    case "unsendable":
      return outcome.error;
  }
}
