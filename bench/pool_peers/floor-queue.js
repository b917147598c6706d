/**
 * The floor for a pool that holds tasks back: bare workers, one task in each, an array for the rest.
 * It promises nothing but that order.
 */

/** @import { Adapter } from "./subject.js" */

/**
 * @typedef {{task: string, payload: unknown, transfer: Transferable[],
 *   promise: PromiseWithResolvers<unknown>}} Task
 */

/** @type {Adapter} */
export const adapter = {
  offers: [],
  create({ workers, script = "workers/floor.js" }) {
    /** @type {Task[]} */
    const waiting = [];
    /** @type {Map<Worker, Task>} */
    const running = new Map();
    const idle = Array.from({ length: workers }, () => new Worker(script, { type: "module" }));
    const all = [...idle];
    const next = () => {
      while (idle.length > 0 && waiting.length > 0) {
        const worker = /** @type {Worker} */ (idle.pop());
        const task = /** @type {Task} */ (waiting.shift());
        running.set(worker, task);
        worker.postMessage({ id: 0, task: task.task, payload: task.payload }, task.transfer);
      }
    };
    for (const worker of all) {
      worker.onmessage = ({ data }) => {
        const promise = running.get(worker)?.promise;
        running.delete(worker);
        idle.push(worker);
        next();
        "error" in data ? promise?.reject(data.error) : promise?.resolve(data.result);
      };
    }
    return {
      run(task, payload, { transfer = [] } = {}) {
        const promise = Promise.withResolvers();
        waiting.push({ task, payload, transfer, promise });
        next();
        return promise.promise;
      },
      destroy() {
        for (const worker of all) worker.terminate();
      },
    };
  },
};
