/**
 * comlink wraps one worker and is no pool: taking the workers in turn is the least that makes it one.
 */

import { releaseProxy, transfer as transferred, wrap } from "comlink";

/**
 * @import { Remote } from "comlink"
 * @import { Adapter } from "./subject.js"
 */

/** @type {Adapter} */
export const adapter = {
  offers: [],
  create({ workers, script = "workers/comlink.js" }) {
    const members = Array.from({ length: workers }, () => {
      const worker = new Worker(script, { type: "module" });
      const remote = /** @type {Remote<Record<string, (payload: unknown) => unknown>>} */ (
        wrap(worker)
      );
      return { worker, remote };
    });
    let sent = 0;
    return {
      run(task, payload, { transfer } = {}) {
        const { remote } = members[sent++ % workers];
        return remote[task](transfer ? transferred(payload, transfer) : payload);
      },
      destroy() {
        for (const { worker, remote } of members) {
          remote[releaseProxy]();
          worker.terminate();
        }
      },
    };
  },
};
