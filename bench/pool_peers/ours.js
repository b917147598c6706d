import { WorkerPool } from "../../page/pool.js";

/** @import { Adapter } from "./subject.js" */

/** @type {Adapter} */
export const adapter = {
  offers: ["bounded queue", "cancel waiting", "cancel running"],
  create({ workers, maxQueue, script = "workers/ours.js", bootTimeout }) {
    const pool = new WorkerPool({
      url: script,
      size: workers,
      ...(maxQueue !== undefined && { maxQueue }),
      ...(bootTimeout !== undefined && { bootTimeout }),
    });
    return {
      run: (task, payload, options) => pool.run(task, payload, options),
      destroy: () => pool.destroy(),
    };
  },
};
