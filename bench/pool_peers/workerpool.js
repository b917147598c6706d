import workerpool from "workerpool";

/** @import { Adapter } from "./subject.js" */

/** @type {Adapter} */
export const adapter = {
  offers: ["bounded queue", "cancel waiting", "cancel running"],
  create({ workers, maxQueue, script = "workers/workerpool.js" }) {
    const pool = workerpool.pool(script, {
      maxWorkers: workers,
      workerOpts: { type: "module" },
      ...(maxQueue !== undefined && { maxQueueSize: maxQueue }),
    });
    return {
      run(task, payload, { transfer, signal } = {}) {
        const promise = pool.exec(task, [payload], transfer && { transfer });
        signal?.addEventListener("abort", () => promise.cancel());
        return promise;
      },
      destroy: () => pool.terminate(true),
    };
  },
};
