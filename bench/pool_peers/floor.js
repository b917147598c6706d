/**
 * The floor: bare workers, hand-written messages and a map of open promises. Each task goes to the
 * next worker in turn; what waits there, the browser holds.
 */

/** @import { Adapter } from "./subject.js" */

/** @type {Adapter} */
export const adapter = {
  offers: [],
  create({ workers, script = "workers/floor.js" }) {
    /** @type {Map<number, PromiseWithResolvers<unknown>>} */
    const open = new Map();
    const bare = Array.from({ length: workers }, () => new Worker(script, { type: "module" }));
    for (const worker of bare) {
      worker.onmessage = ({ data }) => {
        const promise = open.get(data.id);
        open.delete(data.id);
        "error" in data ? promise?.reject(data.error) : promise?.resolve(data.result);
      };
    }
    let sent = 0;
    return {
      run(task, payload, { transfer = [] } = {}) {
        const id = sent++;
        const promise = Promise.withResolvers();
        open.set(id, promise);
        bare[id % workers].postMessage({ id, task, payload }, transfer);
        return promise.promise;
      },
      destroy() {
        for (const worker of bare) worker.terminate();
      },
    };
  },
};
