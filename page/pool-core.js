/**
 * The rules of the pool, and nothing else: no worker, no promise, no timer, no clock.
 *
 * `step` takes what the pool is and what happened, and returns what it is then and what must be
 * done. pool.js does it.
 */

import { Moves } from "./pool-moves.js";
import { TaskQueue } from "./pool-queue.js";
import { emptySlot, mayStart } from "./pool-state.js";

/**
 * @import { ErrorMessage } from "./protocol.js"
 * @import { Effect, Outcome, PoolEvent, PoolState, Slot, Task }
 *   from "./pool-state.js"
 */

/**
 * Everything that follows from one event.
 * @param {PoolState} before stays as it is
 * @param {PoolEvent} event
 * @param {number} now milliseconds, never less than at the last event
 * @returns {{state: PoolState, effects: Effect[]}} the effects in the order in which to carry them out
 */
export function step(before, event, now) {
  const turn = new Turn(before, now);
  turn.take(event);
  turn.goOn();
  return { state: turn.pool, effects: turn.effects };
}

/** The rules: what each event leads to. */
class Turn extends Moves {
  /** @param {PoolEvent} event */
  take(event) {
    switch (event.type) {
      case "queued":
        this.#queue(event);
        break;
      case "unsendable":
        this.#refuseUnsendable(event.id, event.error);
        break;
      case "ready":
        this.#ready(event);
        break;
      case "answered":
        this.#answered(event);
        break;
      case "progressed":
        this.#progressed(event);
        break;
      case "errored":
        this.#lost(event.worker, event.error);
        break;
      case "exited":
        this.#lost(event.worker, EXITED);
        break;
      case "timePassed":
        this.#passTime();
        break;
      case "aborted":
        this.#abort(event.id, event.reason);
        break;
      case "resumed":
        this.#resume(event.away);
        break;
      case "resized":
        this.#resize(event.size);
        break;
      case "closing":
        if (this.pool.phase === "open") this.pool.phase = "closing";
        break;
      case "destroyed":
        if (this.pool.phase !== "closed") this.shut({ kind: "closed", reason: event.reason });
        break;
    }
  }

  /** What follows by itself: free workers get tasks, free places workers, and a pool ends. */
  goOn() {
    if (this.pool.phase === "closed") return;
    this.#tryAnew();
    this.#assign();
    this.#startNext();
    if (this.pool.phase === "closing") this.#finish();
  }

  /** @param {Extract<PoolEvent, {type: "queued"}>} event */
  #queue({ task, aborted }) {
    const { pool } = this;
    pool.counts.sent += 1;
    const refusal = aborted ?? this.#refusal(task.name);
    if (refusal) {
      this.settle(task, refusal);
      return;
    }
    pool.queue = pool.queue.with({
      id: task.id,
      name: task.name,
      priority: task.priority,
      timeout: task.timeout,
      deadline: this.now + task.timeout,
    });
  }

  /**
   * @param {string} name
   * @returns {Outcome | null} why a task of this name cannot be taken now
   */
  #refusal(name) {
    const { phase, end, known, queue, slots, limits } = this.pool;
    if (phase !== "open") return end;
    if (known && !known.includes(name)) return unknown(name, known);
    const full = queue.length >= limits.maxQueue && !slots.some(isFree);
    return full
      ? { kind: "refused", why: "full", queued: queue.length, maxQueue: limits.maxQueue }
      : null;
  }

  /**
   * @param {number} id
   * @param {unknown} error
   */
  #refuseUnsendable(id, error) {
    /** @type {Outcome} */
    const outcome = { kind: "refused", why: "unsendable", error };
    if (this.unqueue(id, outcome)) return;
    const slot = this.slotOf(id);
    if (!slot?.task) return;
    const { worker, task, status, verdict } = slot;
    if (status === "busy" || verdict) this.settle(task, outcome);
    slot.verdict = null;
    if (status === "stopping") {
      this.effects.push({ type: "freed", worker, task, ended: "interrupted" });
    }
    this.free(slot);
  }

  /** @param {Extract<PoolEvent, {type: "ready"}>} event */
  #ready({ worker, tasks, boot }) {
    const { pool } = this;
    const slot = this.slotWith(worker);
    if (slot?.status !== "starting") return;
    this.rest(slot);
    pool.bootFailures = 0;
    this.effects.push({ type: "ready", worker, boot });
    if (pool.known) return;
    pool.known = tasks;
    for (const task of [...pool.queue].filter(({ name }) => !tasks.includes(name))) {
      this.unqueue(task.id, unknown(task.name, tasks));
    }
  }

  /** @param {Extract<PoolEvent, {type: "answered"}>} event */
  #answered({ worker, id, outcome }) {
    const slot = this.slotWith(worker);
    if (!slot?.task || slot.task.id !== id) {
      this.late(worker, id);
      return;
    }
    if (slot.status === "busy") {
      this.settle(slot.task, outcome);
    } else {
      const ended = outcome.kind === "done" ? "finished" : "interrupted";
      if (ended === "finished") this.late(worker, id);
      this.conclude(slot, ended);
      this.effects.push({ type: "freed", worker, task: slot.task, ended });
    }
    slot.answered += 1;
    slot.failures = 0;
    this.free(slot);
  }

  /** @param {Extract<PoolEvent, {type: "progressed"}>} event */
  #progressed({ worker, id, value }) {
    const slot = this.slotWith(worker);
    if (slot?.status === "busy" && slot.task?.id === id) {
      this.effects.push({ type: "progress", id, value });
    }
  }

  /**
   * A worker is no good any longer: while it starts, while it has nothing to do, or with a task.
   * @param {number} worker
   * @param {ErrorMessage} error
   */
  #lost(worker, error) {
    const slot = this.slotWith(worker);
    if (!slot) return;
    this.pool.counts.lost += 1;
    if (slot.status === "starting") {
      this.failToBoot(slot, error);
      return;
    }
    const useless = slot.status === "ready" && slot.answered === 0;
    if (slot.task && slot.status === "busy") {
      this.settle(slot.task, { kind: "crashed", worker, task: slot.task.name, error });
    }
    this.conclude(slot, "terminated");
    if (useless) {
      // Replaced without end otherwise, as each of them was ready for a moment.
      this.failToBoot(slot, error, "crash");
    } else {
      this.end(slot, "crash", error);
    }
  }

  #passTime() {
    const { now, pool } = this;
    for (const slot of [...pool.slots]) {
      if (slot.until > now) continue;
      if (slot.status === "starting") {
        this.failToBoot(slot, notReady(pool.limits.bootTimeout));
        if (this.isClosed()) return;
      } else if (slot.status === "busy") {
        this.#giveUp(slot);
      } else if (slot.status === "stopping") {
        this.conclude(slot, "terminated");
        this.end(slot, "terminated");
      }
    }
    if (pool.queue.soonest > now) return;
    for (const task of [...pool.queue].filter(({ deadline }) => deadline <= now)) {
      const { id, timeout } = task;
      this.unqueue(id, { kind: "timedOut", limit: "timeout", ms: timeout, ended: "waiting" });
    }
  }

  /** @param {Slot} slot whose task has run for too long */
  #giveUp(slot) {
    const task = /** @type {Task} */ (slot.task);
    const [limit, ms] =
      task.deadline <= this.now
        ? /** @type {const} */ (["timeout", task.timeout])
        : /** @type {const} */ (["taskTimeout", this.pool.limits.taskTimeout]);
    slot.verdict = { kind: "timedOut", limit, ms, ended: "terminated" };
    this.stop(slot, task);
  }

  /**
   * @param {number} id
   * @param {unknown} reason
   */
  #abort(id, reason) {
    /** @type {Outcome} */
    const outcome = { kind: "aborted", reason };
    if (this.unqueue(id, outcome)) return;
    const slot = this.slotOf(id);
    if (!slot?.task || (slot.status === "stopping" && !slot.verdict)) return;
    this.settle(slot.task, outcome);
    slot.verdict = null;
    if (slot.status === "busy") this.stop(slot, slot.task);
  }

  /** @param {number} away milliseconds during which neither page nor workers ran */
  #resume(away) {
    const { pool } = this;
    const later = (/** @type {Task} */ task) => ({ ...task, deadline: task.deadline + away });
    pool.queue = new TaskQueue([...pool.queue].map(later));
    for (const slot of pool.slots) {
      slot.until += away;
      slot.task = slot.task && later(slot.task);
    }
  }

  /** @param {number} size */
  #resize(size) {
    const { pool } = this;
    if (pool.phase !== "open") return;
    pool.limits = { ...pool.limits, size };
    for (const slot of pool.slots) {
      slot.leaving = false;
      // To ask for another size is to ask for another try.
      if (slot.status === "abandoned") Object.assign(slot, emptySlot());
    }
    while (pool.slots.length < size) pool.slots.push(emptySlot());
    const dearest = [...pool.slots].sort((a, b) => COST[b.status] - COST[a.status]);
    for (const slot of dearest.slice(size)) {
      slot.leaving = true;
      if (!slot.task) this.end(slot, "resized");
    }
  }

  /** Tries given-up places anew when the last worker has left: nobody else could do what waits. */
  #tryAnew() {
    const { slots } = this.pool;
    if (slots.some(({ status }) => status !== "abandoned")) return;
    for (const slot of slots) Object.assign(slot, emptySlot());
  }

  /** Gives waiting tasks to free workers. */
  #assign() {
    const { pool, now } = this;
    for (const slot of pool.slots) {
      const task = pool.queue.first;
      if (!task) return;
      if (!isFree(slot)) continue;
      pool.queue = pool.queue.without(task);
      slot.status = "busy";
      slot.task = task;
      slot.until = Math.min(now + pool.limits.taskTimeout, task.deadline);
      this.effects.push({ type: "post", worker: slot.worker, task });
    }
  }

  /** Starts workers one after another, so that the first is there early. */
  #startNext() {
    const { pool, now } = this;
    if (!mayStart(pool)) return;
    const slot = pool.slots.find(({ status, until }) => status === "empty" && until <= now);
    if (!slot) return;
    pool.lastWorker += 1;
    pool.counts.started += 1;
    slot.status = "starting";
    slot.worker = pool.lastWorker;
    slot.until = now + pool.limits.bootTimeout;
    this.effects.push({ type: "start", worker: slot.worker });
  }

  /** Ends the workers of a closing pool for which nothing is left to do, and then the pool. */
  #finish() {
    const { pool } = this;
    if (pool.queue.length > 0) return;
    for (const slot of pool.slots.filter(({ task }) => !task)) {
      slot.leaving = true;
      this.end(slot, "closed");
    }
    if (pool.slots.length === 0) this.shut({ kind: "closed" });
  }
}

/** How much would be lost with a place in this state. */
const COST = { abandoned: 0, empty: 1, starting: 2, ready: 3, stopping: 4, busy: 5 };

/** @param {Slot} slot */
const isFree = ({ status, leaving }) => status === "ready" && !leaving;

/**
 * @param {string} task
 * @param {readonly string[]} known
 * @returns {Outcome}
 */
const unknown = (task, known) => ({ kind: "refused", why: "unknown", task, known: [...known] });

/** @type {ErrorMessage} */
const EXITED = { name: "Error", message: "The worker ended by itself", traceback: "" };

/**
 * @param {number} ms
 * @returns {ErrorMessage}
 */
const notReady = (ms) => ({
  name: "TimeoutError",
  message: `The worker was not ready within ${ms} ms`,
  traceback: "",
});
