/**
 * The moves of which the rules in pool-core.js consist: each keeps a pool's state consistent, and
 * notes the effects that belong to it.
 */

import { TaskQueue } from "./pool-queue.js";
import { copyOf, emptySlot, isAlive } from "./pool-state.js";

/**
 * @import { ErrorMessage } from "./protocol.js"
 * @import { Closed, Effect, Ended, Outcome, PoolState, Reason, Slot, Task, Unbootable }
 *   from "./pool-state.js"
 */

/** Whatever `bootPause` and `bootAttempts` are, nobody waits for longer between two attempts. */
export const LONGEST_PAUSE = 10_000;

/** One step: a copy of the state, which changes move by move, and the effects so far. */
export class Moves {
  /**
   * @param {PoolState} before
   * @param {number} now
   */
  constructor(before, now) {
    this.now = now;
    /** @type {PoolState} */
    this.pool = copyOf(before);
    /** @type {Effect[]} */
    this.effects = [];
  }

  /**
   * Ends everything at once.
   * @param {Closed | Unbootable} end
   */
  shut(end) {
    const { pool } = this;
    pool.phase = "closed";
    pool.end = end;
    for (const task of pool.queue) this.settle(task, end);
    pool.queue = new TaskQueue();
    for (const slot of [...pool.slots]) {
      slot.leaving = true;
      if (slot.task && slot.status === "busy") this.settle(slot.task, end);
      this.conclude(slot, "terminated");
      this.end(slot, "closed");
    }
    this.effects.push({ type: "closed", end });
  }

  /**
   * @param {Slot} slot whose worker did not come to anything
   * @param {ErrorMessage} error
   * @param {Reason} [reason]
   */
  failToBoot(slot, error, reason = "boot") {
    const { pool, now } = this;
    const { bootAttempts, bootPause } = pool.limits;
    const failures = slot.failures + 1;
    this.end(slot, reason, error);
    if (!pool.slots.some(isAlive)) pool.bootFailures += 1;
    slot.failures = failures;
    slot.until = now + Math.min(bootPause * 4 ** (failures - 1), LONGEST_PAUSE);
    if (failures >= bootAttempts) {
      slot.status = "abandoned";
      slot.until = Number.POSITIVE_INFINITY;
    }
    const hopeless =
      pool.bootFailures >= bootAttempts || pool.slots.every(({ status }) => status === "abandoned");
    if (hopeless) {
      this.shut({ kind: "unbootable", attempts: bootAttempts, error });
    }
  }

  /**
   * Tells the worker that nobody waits for its task any longer.
   * @param {Slot} slot
   * @param {Task} task
   */
  stop(slot, task) {
    slot.status = "stopping";
    slot.until = this.now + this.pool.limits.graceMs;
    this.effects.push({ type: "cancel", worker: slot.worker, task });
  }

  /**
   * Settles a stopping task that has not been settled yet.
   * @param {Slot} slot
   * @param {Ended} ended
   */
  conclude(slot, ended) {
    if (slot.task && slot.verdict) this.settle(slot.task, { ...slot.verdict, ended });
    slot.verdict = null;
  }

  /** @param {Slot} slot whose task is over and whose worker is sound */
  free(slot) {
    if (slot.leaving) {
      this.end(slot, "resized");
    } else if (slot.answered >= this.pool.limits.maxTasksPerWorker) {
      this.end(slot, "recycled");
    } else {
      this.rest(slot);
    }
  }

  /** @param {Slot} slot */
  rest(slot) {
    slot.status = "ready";
    slot.task = null;
    slot.until = Number.POSITIVE_INFINITY;
  }

  /**
   * Ends the worker in this place, if there is one; the place is empty then, or gone.
   * @param {Slot} slot
   * @param {Reason} reason
   * @param {ErrorMessage} [error]
   */
  end(slot, reason, error) {
    const { pool, now } = this;
    if (slot.worker > 0) {
      this.effects.push({ type: "end", worker: slot.worker, reason, error });
    }
    if (slot.leaving) {
      pool.slots = pool.slots.filter((other) => other !== slot);
    }
    Object.assign(slot, emptySlot(now, 0));
  }

  /**
   * @param {Omit<Task, "deadline">} task
   * @param {Outcome} outcome
   */
  settle(task, outcome) {
    this.pool.counts[outcome.kind] += 1;
    this.effects.push({ type: "settle", task, outcome });
  }

  /**
   * @param {number} worker
   * @param {number} id
   */
  late(worker, id) {
    this.pool.counts.late += 1;
    this.effects.push({ type: "late", worker, id });
  }

  /**
   * @param {number} id
   * @param {Outcome} outcome
   * @returns {boolean} whether the task was in the queue; it has been settled then
   */
  unqueue(id, outcome) {
    const { pool } = this;
    const task = pool.queue.find(id);
    if (!task) return false;
    pool.queue = pool.queue.without(task);
    this.settle(task, outcome);
    return true;
  }

  /** @param {number} worker */
  slotWith(worker) {
    return this.pool.slots.find((slot) => slot.worker === worker);
  }

  /** @param {number} id */
  slotOf(id) {
    return this.pool.slots.find((slot) => slot.task?.id === id);
  }

  isClosed() {
    return this.pool.phase === "closed";
  }
}
