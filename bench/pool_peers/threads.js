// @ts-expect-error: the package states no types for its ES module
import { Pool, spawn, Transfer, Worker } from "threads";

/** @import { Adapter } from "./subject.js" */

/** @typedef {Record<string, (payload: unknown) => Promise<unknown>>} Thread */
/** @typedef {PromiseLike<unknown> & {cancel(): void}} QueuedTask */

/** @type {Adapter} */
export const adapter = {
  offers: ["bounded queue", "cancel waiting"],
  create({ workers, maxQueue, script = "workers/threads.js", bootTimeout }) {
    const pool = Pool(
      () => spawn(new Worker(script, { type: "module" }), bootTimeout && { timeout: bootTimeout }),
      { size: workers, ...(maxQueue !== undefined && { maxQueuedJobs: maxQueue }) },
    );
    return {
      run(task, payload, { transfer, signal } = {}) {
        const given = transfer ? Transfer(payload, transfer) : payload;
        /** @type {QueuedTask} */
        const queued = pool.queue((/** @type {Thread} */ thread) => thread[task](given));
        signal?.addEventListener("abort", () => queued.cancel());
        return queued;
      },
      destroy: () => pool.terminate(true),
    };
  },
};
