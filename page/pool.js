/**
 * A pool of long-lived workers that run tasks by name.
 *
 * Every promise settles: with the result, with the task's error, or with one of the errors of
 * pool-errors.js. The rules are in pool-core.js; this module carries out what they say.
 */

import { step } from "./pool-core.js";
import { errorOf } from "./pool-errors.js";
import { amount, limitsOf, listener, size } from "./pool-options.js";
import { held, unsendable } from "./pool-payload.js";
import { nextDeadline, openPool } from "./pool-state.js";
import { PoolWorker } from "./pool-worker.js";
import { errorToMessage } from "./protocol.js";
import { Standstill } from "./standstill.js";

/**
 * @import { BootReport, ErrorMessage, Stage } from "./protocol.js"
 * @import { Counts, Effect, Ended, Limits, Outcome, PoolEvent, PoolState, Reason, Slot }
 *   from "./pool-state.js"
 */

/**
 * What a pool is made of. `size`: workers (2; on a small machine 1, on a large one 4). `maxQueue`:
 * tasks that may wait (1000). In milliseconds: `bootTimeout` until a worker must be ready (120,000),
 * `taskTimeout` a task may run (no limit), `graceMs` a task that was given up may take to stop before
 * its worker is ended (500), `bootPause` before the second attempt to start a worker, four times as
 * long before the third (250). `maxTasksPerWorker`: answers after which a worker is replaced, for
 * memory never shrinks (no limit). `bootAttempts`: to start a worker, in a row (3).
 * @typedef {object} OwnOptions
 * @property {string | URL | (() => Worker)} url the worker's module, or what makes a worker
 * @property {object} [config] what each worker is told to boot with; must be clonable
 * @property {(happening: Happening) => void} [onEvent] hears of everything, as it happens
 * @typedef {OwnOptions & Partial<Limits>} PoolOptions
 */

/**
 * @typedef {object} RunOptions
 * @property {Transferable[]} [transfer] parts of the payload to hand over instead of copying
 * @property {AbortSignal} [signal] gives the task up; `run` rejects with its reason at once
 * @property {number} [timeout] milliseconds from now, waiting included, after which it is given up
 * @property {(value: number) => void} [onProgress] takes values from 0 to 1
 * @property {number} [priority] tasks of a higher one start first; 0 unless given
 */

/**
 * What `onEvent` hears.
 * @typedef {{type: "task-queued", id: number, task: string}
 *   | {type: "task-started", id: number, task: string, worker: number}
 *   | {type: "task-progress", id: number, value: number}
 *   | {type: "task-settled", id: number, task: string, outcome: Outcome["kind"]}
 *   | {type: "worker-starting", worker: number}
 *   | {type: "worker-stage", worker: number, stage: Stage}
 *   | {type: "worker-ready", worker: number, boot: BootReport | undefined}
 *   | {type: "worker-stopping", worker: number, id: number}
 *   | {type: "worker-freed", worker: number, id: number, ended: Ended}
 *   | {type: "worker-gone", worker: number, reason: Reason, error?: ErrorMessage | undefined}
 *   | {type: "late-answer", worker: number, id: number}
 *   | {type: "pool-closed", error: unknown}} Happening
 */

/**
 * @typedef {object} PoolStats
 * @property {PoolState["phase"]} phase
 * @property {number} size workers that there should be
 * @property {number} queued tasks that wait
 * @property {number} running tasks that a worker has and that are not settled yet
 * @property {{worker: number, status: Slot["status"], task: {id: number, name: string} | null,
 *   answered: number}[]} workers one for each place
 * @property {Counts} counts
 */

/**
 * What is kept of a task until it is settled.
 * @typedef {object} Job
 * @property {(result: unknown) => void} resolve
 * @property {(error: unknown) => void} reject
 * @property {unknown} payload
 * @property {Transferable[]} transfer
 * @property {boolean} posted
 * @property {((value: number) => void) | undefined} onProgress
 * @property {(() => void) | undefined} forget takes the listener off the signal
 */

/** setTimeout fires at once for anything longer. */
const LONGEST_TIMER = 2 ** 31 - 1;

export class WorkerPool {
  /**
   * Resolves when the first worker can take tasks, with their names and how its boot went. Rejects
   * with a BootError when none can, and with a PoolClosedError when the pool is closed before.
   * `run` does not need to wait for it.
   * @type {Promise<{tasks: readonly string[], boot: BootReport | undefined}>}
   */
  ready;

  #url;
  #config;
  #onEvent;
  /** @type {PoolState} */
  #state;
  /** @type {Map<number, PoolWorker>} */
  #workers = new Map();
  /** @type {Map<number, Job>} */
  #jobs = new Map();
  /** @type {PoolEvent[]} */
  #events = [];
  #busy = false;
  /** @type {(() => void)[]} */
  #tidings = [];
  #telling = false;
  #lastId = 0;
  /** @type {unknown} */
  #shared;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #alarm = Number.POSITIVE_INFINITY;
  #opened = /** @type {PromiseWithResolvers<Awaited<WorkerPool["ready"]>>} */ (withResolvers());
  #closed = /** @type {PromiseWithResolvers<void>} */ (withResolvers());
  #standstill;

  /**
   * Starts the workers, one after another.
   * @param {PoolOptions} options
   * @throws {TypeError | RangeError} when an option makes no sense
   */
  constructor({ url, config = {}, onEvent, ...limits }) {
    listener("onEvent", onEvent);
    this.#url = url;
    this.#config = config;
    this.#onEvent = onEvent;
    this.#state = openPool(limitsOf(limits));
    this.ready = this.#opened.promise;
    // Whoever does not look at `ready` learns of a failed boot by every `run`.
    this.ready.catch(() => {});
    this.#standstill = new Standstill((away) => this.#take({ type: "resumed", away }));
    // Whoever listens may want to look at the pool, so let it have its name first.
    queueMicrotask(() => this.#take({ type: "timePassed" }));
  }

  /**
   * Runs a task in the first free worker and returns its result. Tasks of equal priority start in
   * the order of the calls. The payload is cloned or transferred before `run` returns.
   * @param {string} task its name in the workers' registry
   * @param {unknown} [payload] anything that can be cloned
   * @param {RunOptions} [options]
   * @returns {Promise<any>} rejects, and never throws, with a TaskError when the task fails, with
   *   the errors of pool-errors.js, with the signal's reason, and with a DataCloneError for a
   *   payload that cannot be cloned; before anything is cloned or transferred when the signal is
   *   aborted, the pool closed, the name unknown or the queue full
   */
  run(task, payload, options = {}) {
    return new Promise((resolve, reject) => {
      const { transfer = [], signal, onProgress } = options;
      const timeout = amount("timeout", options.timeout ?? Number.POSITIVE_INFINITY);
      const priority = amount("priority", options.priority ?? 0, Number.NEGATIVE_INFINITY);
      if (typeof task !== "string") {
        throw new TypeError(`A task is a name, not a ${typeof task}: it is sent to a worker`);
      }
      listener("onProgress", onProgress);
      this.#lastId += 1;
      const id = this.#lastId;
      const forget = signal && this.#listen(signal, id);
      /** @type {Job} */
      const job = { resolve, reject, payload, transfer, posted: false, onProgress, forget };
      this.#jobs.set(id, job);
      this.#tell({ type: "task-queued", id, task });
      this.#take({
        type: "queued",
        task: { id, name: task, priority, timeout },
        ...(signal?.aborted && { aborted: { kind: "aborted", reason: signal.reason } }),
      });
      if (!job.posted) this.#hold(id, job);
    });
  }

  /**
   * @param {AbortSignal} signal
   * @param {number} id
   * @returns {() => void} takes the listener off again
   */
  #listen(signal, id) {
    const onAbort = () => this.#take({ type: "aborted", id, reason: signal.reason });
    signal.addEventListener("abort", onAbort);
    return () => signal.removeEventListener("abort", onAbort);
  }

  /** @returns {Limits} what the pool keeps to, defaults filled in */
  get limits() {
    return { ...this.#state.limits };
  }

  /** @returns {PoolStats} how things are at this moment */
  get stats() {
    const { phase, limits, queue, slots, counts } = this.#state;
    return {
      phase,
      size: limits.size,
      queued: queue.length,
      running: slots.filter(({ status, verdict }) => status === "busy" || verdict).length,
      workers: slots.map(({ worker, status, task, answered }) => ({
        worker,
        status,
        task: task && { id: task.id, name: task.name },
        answered,
      })),
      counts: { ...counts },
    };
  }

  /**
   * Changes the number of workers: further ones start, free ones are ended, and ones with a task are
   * ended when it is over. Places whose workers could not boot are tried again.
   * @param {number} workers
   * @throws {TypeError | RangeError} when that is no whole number from 1 to 64
   */
  resize(workers) {
    this.#take({ type: "resized", size: size(workers) });
  }

  /**
   * Takes no more tasks, lets those that it has finish, and ends the workers.
   * @returns {Promise<void>} resolves when all of that is done; never rejects
   */
  close() {
    this.#take({ type: "closing" });
    return this.#closed.promise;
  }

  /**
   * Ends everything at once: every task that waits or runs rejects with a PoolClosedError.
   * @param {unknown} [reason] the `cause` of those errors
   */
  destroy(reason) {
    this.#take({ type: "destroyed", reason });
  }

  /** `await using` closes the pool at the end of the block. */
  [Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]() {
    return this.close();
  }

  /**
   * Lets the rules take an event, then carries out what they say. An event that comes up meanwhile,
   * from a listener's own call, waits its turn.
   * @param {PoolEvent} event
   */
  #take(event) {
    if (this.#busy) {
      this.#events.push(event);
      return;
    }
    this.#busy = true;
    try {
      this.#follow(event);
      for (let next = this.#events.shift(); next; next = this.#events.shift()) this.#follow(next);
    } finally {
      this.#busy = false;
    }
    this.#setAlarm();
    this.#spread();
  }

  /** @param {PoolEvent} event */
  #follow(event) {
    const { state, effects } = step(this.#state, event, performance.now());
    this.#state = state;
    for (const effect of effects) this.#carryOut(effect);
  }

  /** @param {Effect} effect */
  #carryOut(effect) {
    switch (effect.type) {
      case "start":
        this.#tell({ type: "worker-starting", worker: effect.worker });
        this.#start(effect.worker);
        break;
      case "post":
        this.#post(effect.worker, effect.task);
        break;
      case "cancel":
        this.#workers.get(effect.worker)?.cancel(effect.task.id);
        this.#tell({ type: "worker-stopping", worker: effect.worker, id: effect.task.id });
        break;
      case "freed": {
        const { worker, task, ended } = effect;
        this.#workers.get(worker)?.calm();
        this.#tell({ type: "worker-freed", worker, id: task.id, ended });
        break;
      }
      case "end": {
        const { worker, reason, error } = effect;
        this.#workers.get(worker)?.terminate();
        this.#workers.delete(worker);
        this.#tell({ type: "worker-gone", worker, reason, error });
        break;
      }
      case "settle":
        this.#settle(effect.task.id, effect.task.name, effect.outcome);
        break;
      case "progress":
        this.#call(this.#jobs.get(effect.id)?.onProgress, effect.value);
        this.#tell({ type: "task-progress", id: effect.id, value: effect.value });
        break;
      case "late":
        this.#tell({ type: "late-answer", worker: effect.worker, id: effect.id });
        break;
      case "ready": {
        const { worker, boot } = effect;
        this.#opened.resolve({ tasks: this.#state.known ?? [], boot });
        this.#tell({ type: "worker-ready", worker, boot });
        break;
      }
      case "closed": {
        this.#standstill.forget();
        const error = errorOf("", effect.end);
        this.#opened.reject(error);
        this.#closed.resolve();
        this.#tell({ type: "pool-closed", error });
        break;
      }
    }
  }

  /** @param {number} worker */
  #start(worker) {
    const shared = this.#shared === undefined ? {} : { shared: this.#shared };
    try {
      const started = new PoolWorker(
        this.#url,
        { ...this.#config, ...shared },
        {
          onStage: (stage) => {
            this.#tell({ type: "worker-stage", worker, stage });
            this.#spread();
          },
          onReady: ({ tasks, boot, shared: given }) => {
            this.#shared ??= given;
            this.#take({ type: "ready", worker, tasks, boot });
          },
          onProgress: (id, value) => this.#take({ type: "progressed", worker, id, value }),
          onAnswer: (id, outcome) => this.#take({ type: "answered", worker, id, outcome }),
          onUnreadable: (id) => this.#take({ type: "unsendable", id, error: unsendable() }),
          onError: (error) => this.#take({ type: "errored", worker, error }),
          onExit: () => this.#take({ type: "exited", worker }),
        },
      );
      this.#workers.set(worker, started);
    } catch (error) {
      this.#take({ type: "errored", worker, error: errorToMessage(error) });
    }
  }

  /**
   * @param {number} worker
   * @param {{id: number, name: string}} task
   */
  #post(worker, { id, name }) {
    const job = this.#jobs.get(id);
    const poolWorker = this.#workers.get(worker);
    if (!job || !poolWorker) return;
    try {
      job.posted = true;
      poolWorker.run(id, name, job.payload, job.transfer);
      this.#tell({ type: "task-started", id, task: name, worker });
    } catch (error) {
      this.#take({ type: "unsendable", id, error: unsendable(error) });
    }
    job.payload = undefined;
    job.transfer = [];
  }

  /**
   * @param {number} id
   * @param {Job} job of a task that may have to wait
   */
  #hold(id, job) {
    if (!this.#jobs.has(id)) return;
    try {
      Object.assign(job, held(job.payload, job.transfer));
    } catch (error) {
      this.#take({ type: "unsendable", id, error: unsendable(error) });
    }
  }

  /**
   * @param {number} id
   * @param {string} task
   * @param {Outcome} outcome
   */
  #settle(id, task, outcome) {
    const job = this.#jobs.get(id);
    this.#jobs.delete(id);
    job?.forget?.();
    if (outcome.kind === "done") {
      job?.resolve(outcome.result);
    } else {
      job?.reject(errorOf(task, outcome));
    }
    this.#tell({ type: "task-settled", id, task, outcome: outcome.kind });
  }

  /** @param {Happening} happening */
  #tell(happening) {
    if (this.#onEvent) this.#call(this.#onEvent, happening);
  }

  /**
   * Notes a call of a listener for when the rules have been carried out: it may use the pool.
   * @template T
   * @param {((value: T) => void) | undefined} listener
   * @param {T} value
   */
  #call(listener, value) {
    if (listener) this.#tidings.push(() => listener(value));
  }

  /** Calls the listeners. What they throw is the page's error, not the pool's. */
  #spread() {
    if (this.#telling) return;
    this.#telling = true;
    for (let next = this.#tidings.shift(); next; next = this.#tidings.shift()) {
      try {
        next();
      } catch (error) {
        reportError(error);
      }
    }
    this.#telling = false;
  }

  #setAlarm() {
    const deadline = nextDeadline(this.#state);
    // An alarm that comes too early does no harm, and a new timer for each task takes its time.
    if (deadline >= this.#alarm && deadline !== Number.POSITIVE_INFINITY) return;
    if (deadline === this.#alarm) return;
    clearTimeout(this.#timer);
    this.#alarm = deadline;
    if (deadline === Number.POSITIVE_INFINITY) return;
    const wait = Math.min(Math.max(0, Math.ceil(deadline - performance.now())), LONGEST_TIMER);
    this.#timer = setTimeout(() => {
      this.#alarm = Number.POSITIVE_INFINITY;
      this.#take({ type: "timePassed" });
    }, wait);
  }
}

/** @returns {PromiseWithResolvers<any>} */
function withResolvers() {
  /** @type {Partial<PromiseWithResolvers<unknown>>} */
  const made = {};
  made.promise = new Promise((resolve, reject) => {
    Object.assign(made, { resolve, reject });
  });
  return /** @type {PromiseWithResolvers<unknown>} */ (made);
}
