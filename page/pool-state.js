/**
 * What the rules of the pool (pool-core.js) speak of: plain data, but for the queue.
 */

import { TaskQueue } from "./pool-queue.js";

/** @import { BootReport, ErrorMessage } from "./protocol.js" */

/**
 * All times in milliseconds; Infinity means never.
 * @typedef {object} Limits
 * @property {number} size workers
 * @property {number} maxQueue tasks that may wait; those that run do not count
 * @property {number} bootTimeout until a worker must be ready
 * @property {number} taskTimeout a task may run in its worker
 * @property {number} graceMs a task that was given up may take to stop before its worker is ended
 * @property {number} maxTasksPerWorker answers after which a worker is replaced
 * @property {number} bootAttempts times that one place for a worker is tried in a row
 * @property {number} bootPause before the second attempt; four times as long before each later one,
 *   but never more than ten seconds
 */

/**
 * A task that has been accepted and not settled yet.
 * @typedef {object} Task
 * @property {number} id grows with each task
 * @property {string} name
 * @property {number} priority higher ones start first
 * @property {number} timeout from queueing to the answer
 * @property {number} deadline when `timeout` is over
 */

/**
 * A place for one worker. `empty`: there is none, the next may start at `until`; `abandoned`: none
 * of its workers could boot; `stopping`: its task was given up and has not ended yet.
 * @typedef {object} Slot
 * @property {"empty" | "starting" | "ready" | "busy" | "stopping" | "abandoned"} status
 * @property {number} worker its number; no two workers have the same; 0 while there is none
 * @property {Task | null} task while busy or stopping
 * @property {number} until when the rules must look again: the end of the pause, of the time to
 *   boot, of the time to run, of the grace period
 * @property {TimedOut | null} verdict what the stopping task will end in; null when it has ended
 * @property {number} answered tasks that this worker has answered
 * @property {number} failures workers in a row that died here before they had answered anything
 * @property {boolean} leaving there are to be fewer places; this one goes when its task is over
 */

/**
 * How a task ends, each of them once.
 * @typedef {{kind: "done", result: unknown}} Done
 * @typedef {{kind: "failed", error: ErrorMessage}} Failed
 * @typedef {{kind: "refused", why: "full", queued: number, maxQueue: number}
 *   | {kind: "refused", why: "unknown", task: string, known: string[]}
 *   | {kind: "refused", why: "unsendable", error: unknown}} Refused
 * @typedef {{kind: "aborted", reason: unknown}} Aborted
 * @typedef {"waiting" | "interrupted" | "finished" | "terminated"} Ended `waiting`: it never
 *   started; `interrupted`: it stopped, its worker goes on; `finished`: it came to its end in the
 *   grace period, its worker goes on; `terminated`: its worker was ended
 * @typedef {{kind: "timedOut", limit: "timeout" | "taskTimeout", ms: number, ended: Ended}} TimedOut
 * @typedef {{kind: "crashed", worker: number, task: string, error: ErrorMessage}} Crashed
 * @typedef {{kind: "closed", reason?: unknown}} Closed
 * @typedef {{kind: "unbootable", attempts: number, error: ErrorMessage}} Unbootable
 * @typedef {Done | Failed | Refused | Aborted | TimedOut | Crashed | Closed | Unbootable} Outcome
 */

/**
 * How many tasks were sent, and ended in what: `sent` is the sum of the others and of the tasks
 * that are not settled yet. `late`: answers to tasks that had been given up; `started` and `lost`: workers.
 * @typedef {Record<"sent" | Outcome["kind"] | "late" | "started" | "lost", number>} Counts
 */

/**
 * @typedef {object} PoolState
 * @property {Limits} limits
 * @property {"open" | "closing" | "closed"} phase
 * @property {Closed | Unbootable} end what a task is told once the pool is no longer open
 * @property {readonly string[] | null} known names of the tasks, as the first worker gave them
 * @property {TaskQueue} queue those that wait
 * @property {Slot[]} slots
 * @property {number} lastWorker
 * @property {number} bootFailures in a row, in whichever place, while no worker was there that has
 *   been ready
 * @property {Counts} counts
 */

/**
 * What happens to a pool. `answered`, `progressed`, `errored` and `exited` of a worker that the pool
 * has ended already change nothing.
 * @typedef {{type: "queued", task: Omit<Task, "deadline">, aborted?: Aborted}
 *   | {type: "unsendable", id: number, error: unknown}
 *   | {type: "ready", worker: number, tasks: string[], boot?: BootReport | undefined}
 *   | {type: "answered", worker: number, id: number, outcome: Done | Failed}
 *   | {type: "progressed", worker: number, id: number, value: number}
 *   | {type: "errored", worker: number, error: ErrorMessage}
 *   | {type: "exited", worker: number}
 *   | {type: "timePassed"}
 *   | {type: "aborted", id: number, reason: unknown}
 *   | {type: "resumed", away: number}
 *   | {type: "resized", size: number}
 *   | {type: "closing"}
 *   | {type: "destroyed", reason: unknown}} PoolEvent `unsendable`: the browser refuses to clone the
 *   payload; `timePassed`: a deadline may be over; `resumed`: everything stood still for `away`
 */

/**
 * Why a worker was ended.
 * @typedef {"boot" | "crash" | "terminated" | "recycled" | "resized" | "closed"} Reason
 */

/**
 * What the shell must do, in this order.
 * @typedef {{type: "start", worker: number}
 *   | {type: "post", worker: number, task: Task}
 *   | {type: "cancel", worker: number, task: Task}
 *   | {type: "freed", worker: number, task: Task, ended: Ended}
 *   | {type: "end", worker: number, reason: Reason, error?: ErrorMessage | undefined}
 *   | {type: "settle", task: Omit<Task, "deadline">, outcome: Outcome}
 *   | {type: "progress", id: number, value: number}
 *   | {type: "late", worker: number, id: number}
 *   | {type: "ready", worker: number, boot: BootReport | undefined}
 *   | {type: "closed", end: Closed | Unbootable}} Effect
 */

/**
 * A pool before anything has happened.
 * @param {Limits} limits
 * @returns {PoolState}
 */
export function openPool(limits) {
  return {
    limits,
    phase: "open",
    end: { kind: "closed" },
    known: null,
    queue: new TaskQueue(),
    slots: Array.from({ length: limits.size }, () => emptySlot()),
    lastWorker: 0,
    bootFailures: 0,
    counts: {
      sent: 0,
      done: 0,
      failed: 0,
      refused: 0,
      aborted: 0,
      timedOut: 0,
      crashed: 0,
      closed: 0,
      unbootable: 0,
      late: 0,
      started: 0,
      lost: 0,
    },
  };
}

/**
 * A pool to be changed while the one before stays as it is. Field by field, since a spread takes
 * several times as long, and this happens twice for each task.
 * @param {PoolState} state
 * @returns {PoolState}
 */
export function copyOf({
  limits,
  phase,
  end,
  known,
  queue,
  slots,
  lastWorker,
  bootFailures,
  counts,
}) {
  return {
    limits,
    phase,
    end,
    known,
    queue,
    slots: slots.map(copyOfSlot),
    lastWorker,
    bootFailures,
    counts: {
      sent: counts.sent,
      done: counts.done,
      failed: counts.failed,
      refused: counts.refused,
      aborted: counts.aborted,
      timedOut: counts.timedOut,
      crashed: counts.crashed,
      closed: counts.closed,
      unbootable: counts.unbootable,
      late: counts.late,
      started: counts.started,
      lost: counts.lost,
    },
  };
}

/**
 * @param {Slot} slot
 * @returns {Slot}
 */
function copyOfSlot({ status, worker, task, until, verdict, answered, failures, leaving }) {
  return { status, worker, task, until, verdict, answered, failures, leaving };
}

/**
 * @param {number} [until] when a worker may start here
 * @param {number} [failures]
 * @returns {Slot}
 */
export function emptySlot(until = 0, failures = 0) {
  return {
    status: "empty",
    worker: 0,
    task: null,
    until,
    verdict: null,
    answered: 0,
    failures,
    leaving: false,
  };
}

/**
 * Whether a worker may start as soon as a place's pause is over: one at a time, and in a pool that
 * is closing only if nobody else does the rest of the tasks.
 * @param {PoolState} state
 * @returns {boolean}
 */
export function mayStart({ phase, slots, queue }) {
  if (slots.some(({ status }) => status === "starting")) return false;
  return phase === "open" || (phase === "closing" && queue.length > 0 && !slots.some(isAlive));
}

/**
 * @param {Slot} slot
 * @returns {boolean} whether there is a worker here that has been ready
 */
export function isAlive({ status }) {
  return status === "ready" || status === "busy" || status === "stopping";
}

/**
 * When the rules must look again even if nothing else happens.
 * @param {PoolState} state
 * @returns {number} Infinity when no deadline is set
 */
export function nextDeadline(state) {
  const starts = mayStart(state);
  let next = state.queue.soonest;
  for (const { status, until } of state.slots) {
    if (status !== "empty" || starts) next = Math.min(next, until);
  }
  return next;
}
