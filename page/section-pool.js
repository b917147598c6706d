import { byId } from "./element.js";
import { log } from "./event-log.js";
import { sentenceFor } from "./failure.js";
import { size, span, whole } from "./numbers.js";
import { WorkerPool } from "./pool.js";
import { defaultSize, limitsOf } from "./pool-options.js";
import { drawPool } from "./section-pool-figure.js";
import { Ledger } from "./section-pool-ledger.js";
import { showLedger, showLimits, showWorkers } from "./section-pool-tables.js";
import { site } from "./site.js";
import { say, whenSpoken } from "./text.js";
import { showStatus } from "./told.js";

/**
 * @import { Happening, PoolStats } from "./pool.js"
 * @import { BootReport } from "./protocol.js"
 */

/** A short queue, so that a reader can fill it. */
const MAX_QUEUE = 100;
/** Tasks beyond what there is room for, when the reader overfills the queue. */
const EXCESS = 20;
const LOG = "pool-log";
const STATUS = "pool-status";

/** What the tasks of the figure are given. */
const PAYLOADS = {
  square: () => ({ x: Math.random() }),
  spin: () => ({ seconds: 1 }),
  grind: () => ({ size: 60_000 }),
  sleep: () => ({ seconds: 1 }),
  fail: () => ({ message: "This one was to fail." }),
};
/** The ways to die that the reader can provoke, one after the other. */
const DEATHS = /** @type {const} */ (["error", "close", "rejection", "fatal"]);

/** Places with a worker that has been ready. */
const READY = new Set(["ready", "busy", "stopping"]);

/** The reader's pool: at most one at a time, made by the first task. */
class PoolSection {
  /** @type {WorkerPool | undefined} */
  #pool;
  #ledger = new Ledger(() => this.#show());
  #abort = new AbortController();
  #deaths = 0;
  /** @type {Map<number, BootReport>} how each worker's boot went */
  #boots = new Map();
  /** @type {Map<number, number>} how far each worker's boot is, 0 to 1 */
  #booting = new Map();
  /** @type {Map<number, number>} how far each task is, 0 to 1 */
  #progress = new Map();
  /** Milliseconds of the first boot of the latest pool, and of its latest further one. */
  #firstBoot = 0;
  #laterBoot = 0;
  #drawing = false;
  /** @type {((value?: undefined) => void)[]} called when a worker has come or gone */
  #waiting = [];

  constructor() {
    const size = byId("pool-size", HTMLSelectElement);
    size.value = String(defaultSize());
    size.addEventListener("change", () => {
      this.#pool?.resize(Number(size.value));
      this.#show();
    });
    whenSpoken(() => {
      showLimits(limitsOf({ maxQueue: MAX_QUEUE }));
      this.#draw();
    });
  }

  /** @returns {WorkerPool} the pool, started if there is none */
  get pool() {
    if (this.#pool) return this.#pool;
    this.#firstBoot = 0;
    const pool = new WorkerPool({
      url: new URL("worker.js", site.assets),
      config: { runtimeURL: site.runtime.href },
      size: Number(byId("pool-size", HTMLSelectElement).value),
      maxQueue: MAX_QUEUE,
      onEvent: (happening) => this.#hear(happening),
    });
    this.#pool = pool;
    return pool;
  }

  /**
   * Sends a task and enters it in the ledger.
   *
   * @param {string} task
   * @param {object} payload
   * @param {number} [priority]
   * @returns {Promise<any>}
   */
  run(task, payload, priority = 0) {
    const promise = this.pool.run(task, payload, { signal: this.#abort.signal, priority });
    this.#ledger.enter(promise);
    this.#show();
    return promise;
  }

  /** @param {number} count */
  send(count) {
    const task = /** @type {keyof typeof PAYLOADS} */ (byId("pool-task", HTMLSelectElement).value);
    for (let sent = 0; sent < count; sent += 1) {
      this.run(task, PAYLOADS[task]()).catch(() => {});
    }
    showStatus(STATUS, () => say("pool.sent", { count: whole(count), task }));
  }

  /** Kills a worker, in another way each time, before anything else that waits. */
  crash() {
    const how = DEATHS[this.#deaths % DEATHS.length];
    this.#deaths += 1;
    showStatus(STATUS, () => say(`pool.death.${how}`));
    this.run("crash", { how }, 1).catch(() => {});
  }

  /** Sends more than there is room for, at once. */
  fill() {
    this.send(MAX_QUEUE + this.pool.stats.size + EXCESS);
  }

  /** Gives up everything that waits or runs. */
  cancel() {
    this.#abort.abort();
    this.#abort = new AbortController();
    showStatus(STATUS, () => say("pool.cancelled"));
  }

  destroy() {
    this.#pool?.destroy(new Error("The reader destroyed the pool."));
    showStatus(STATUS, () => say("pool.destroyed"));
  }

  /** Resolves when every worker of the pool has been ready. */
  async allReady() {
    const { pool } = this;
    await pool.ready;
    const booting = () =>
      pool.stats.workers.some(({ status }) => status === "starting" || status === "empty");
    while (booting()) await new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** @param {Happening} happening */
  #hear(happening) {
    switch (happening.type) {
      case "worker-starting":
        this.#booting.set(happening.worker, 0);
        this.#log("starting", happening.worker);
        break;
      case "worker-stage": {
        const { bytes, total } = happening.stage;
        const far = this.#booting.get(happening.worker) ?? 0;
        const reached = bytes && total ? 0.8 * (bytes / total) : Math.min(0.98, far + 0.05);
        this.#booting.set(happening.worker, reached);
        break;
      }
      case "worker-ready":
        this.#noteBoot(happening.worker, happening.boot);
        break;
      case "worker-freed":
        this.#log(happening.ended, happening.worker);
        break;
      case "worker-gone":
        this.#boots.delete(happening.worker);
        this.#booting.delete(happening.worker);
        this.#log(happening.reason, happening.worker, happening.error?.message);
        break;
      case "task-progress":
        this.#progress.set(happening.id, happening.value);
        break;
      case "task-settled":
        this.#progress.delete(happening.id);
        break;
      case "pool-closed":
        this.#pool = undefined;
        if (happening.error instanceof Error && happening.error.name === "BootError") {
          showStatus(STATUS, () => sentenceFor(happening.error), true);
        }
        break;
    }
    if (happening.type === "worker-ready" || happening.type === "worker-gone") {
      for (const resolve of this.#waiting.splice(0)) resolve();
    }
    this.#show();
  }

  /**
   * @param {number} worker
   * @param {BootReport | undefined} boot
   */
  #noteBoot(worker, boot) {
    this.#booting.delete(worker);
    if (!boot) return;
    if (this.#firstBoot === 0) this.#firstBoot = boot.ms;
    else this.#laterBoot = boot.ms;
    this.#boots.set(worker, boot);
    const { ms } = boot;
    log(() => say("pool.event.ready", { worker: whole(worker), span: span(ms) }), "worker", LOG);
  }

  /**
   * @param {string} event
   * @param {number} worker
   * @param {string} [error]
   */
  #log(event, worker, error = "") {
    log(() => say(`pool.event.${event}`, { worker: whole(worker), error }), "worker", LOG);
  }

  /** Draws once a frame at most. */
  #show() {
    if (this.#drawing) return;
    this.#drawing = true;
    requestAnimationFrame(() => {
      this.#drawing = false;
      this.#draw();
    });
  }

  #draw() {
    const stats = this.#pool?.stats;
    const workers = stats?.workers ?? noWorkers();
    const queued = stats?.queued ?? 0;
    const running = stats?.running ?? 0;
    const { done, failed, refused, aborted, crashed, closed } = this.#ledger.outcomes;
    drawPool({
      queued,
      workers,
      progressOf: ({ worker, task }) =>
        task ? (this.#progress.get(task.id) ?? 0) : (this.#booting.get(worker) ?? 0),
      settled: { done, failed, lost: refused + aborted + crashed + closed },
    });
    showWorkers(workers, this.#boots);
    showLedger(this.#ledger, queued + running);
    byId("pool-summary", HTMLElement).textContent = stats
      ? say("pool.summary", {
          queued: whole(queued),
          running: whole(running),
          ready: whole(workers.filter(({ status }) => READY.has(status)).length),
          size: whole(stats.size),
        })
      : say("pool.none");
    this.#showPrice();
  }

  #showPrice() {
    const [boot] = this.#boots.values();
    if (!boot || this.#laterBoot === 0) return;
    byId("pool-price", HTMLElement).textContent = say("pool.priceMeasured", {
      first: span(this.#firstBoot),
      later: span(this.#laterBoot),
      memory: size(boot.memory),
    });
  }
}

/** @returns {PoolStats["workers"]} the places of a pool that has not been started */
function noWorkers() {
  const places = Number(byId("pool-size", HTMLSelectElement).value);
  return Array.from({ length: places }, () => ({
    worker: 0,
    status: /** @type {const} */ ("empty"),
    task: null,
    answered: 0,
  }));
}

export const section = new PoolSection();

/**
 * @param {HTMLButtonElement} button one of the section's own
 */
export function press({ dataset }) {
  switch (dataset.pool) {
    case "send":
      section.send(Number(dataset.count));
      break;
    case "crash":
      section.crash();
      break;
    case "fill":
      section.fill();
      break;
    case "cancel":
      section.cancel();
      break;
    case "destroy":
      section.destroy();
      break;
  }
}
