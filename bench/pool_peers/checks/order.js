/**
 * Tasks begin in the order in which they were sent, one in a worker at a time.
 */

import { outcome } from "../outcome.js";
import { ok, started, wrong } from "./check.js";

/** @import { Check } from "./check.js" */

/** @type {Check[]} */
export const order = [
  {
    title: "200 tasks begin in the order in which they were sent",
    async run(adapter) {
      const subject = await started(adapter);
      const all = Array.from({ length: 200 }, () => outcome(() => subject.run("place")));
      const seen = await Promise.all(all);
      if (seen.some(({ state }) => state === "hangs")) return wrong("HANGS");
      return seen.every(({ value }, place) => value === place) ? ok() : wrong("another order");
    },
  },
  {
    title: "one task at a time in a worker, also an asynchronous one",
    async run(adapter) {
      const subject = await started(adapter);
      const all = Array.from({ length: 20 }, () => outcome(() => subject.run("together")));
      const seen = await Promise.all(all);
      if (seen.some(({ state }) => state === "hangs")) return wrong("HANGS");
      const most = Math.max(...seen.map(({ value }) => Number(value)));
      return most === 1 ? ok() : wrong("they overlap", `${most} at once`);
    },
  },
];
