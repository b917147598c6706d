/**
 * A pool that is destroyed and a task that is given up leave nothing open.
 */

import { outcome } from "../outcome.js";
import { andUsable, done, ms, NOT_OFFERED, ok, rejected, started, wrong } from "./check.js";

/** @import { Check } from "./check.js" */

/** Long enough that nobody takes it for an answer, and over soon if nobody can end it. */
const BUSY_MS = 8000;

/** @type {Check[]} */
export const endings = [
  {
    title: "destroyed while a task runs",
    async run(adapter) {
      const subject = await started(adapter);
      const running = outcome(() => subject.run("never"));
      await outcome(() => subject.destroy());
      return rejected(await running);
    },
  },
  {
    title: "destroyed while a task waits",
    async run(adapter) {
      const subject = await started(adapter);
      const running = outcome(() => subject.run("never"));
      const waiting = outcome(() => subject.run("noop"));
      await outcome(() => subject.destroy());
      await running;
      return rejected(await waiting);
    },
  },
  {
    title: "destroyed while the worker boots",
    async run(adapter) {
      const subject = adapter.create({ workers: 1 });
      const early = outcome(() => subject.run("noop"));
      await outcome(() => subject.destroy());
      return rejected(await early);
    },
  },
  {
    title: "destroyed twice",
    async run(adapter) {
      const subject = await started(adapter);
      await outcome(() => subject.destroy());
      const second = await outcome(() => subject.destroy());
      return second.state === "threw" ? wrong("throws") : done(second);
    },
  },
  {
    title: "a task after the end",
    async run(adapter) {
      const subject = await started(adapter);
      await outcome(() => subject.destroy());
      return rejected(await outcome(() => subject.run("noop")));
    },
  },
  {
    title: "a waiting task is given up",
    async run(adapter) {
      if (!adapter.offers.includes("cancel waiting")) return NOT_OFFERED;
      const subject = await started(adapter);
      const controller = new AbortController();
      const running = outcome(() => subject.run("pause", 200));
      const waiting = outcome(() => subject.run("noop", 0, { signal: controller.signal }));
      controller.abort();
      const verdict = rejected(await waiting);
      const first = done(await running);
      return first.verdict === "ok" ? andUsable(verdict, subject) : wrong("takes another along");
    },
  },
  {
    title: "a busy loop is given up",
    alone: true,
    async run(adapter) {
      if (!adapter.offers.includes("cancel running")) return NOT_OFFERED;
      const subject = await started(adapter);
      const controller = new AbortController();
      const busy = outcome(() => subject.run("spin", BUSY_MS, { signal: controller.signal }));
      await new Promise((resolve) => setTimeout(resolve, 100));
      const aborted = performance.now();
      controller.abort();
      const verdict = rejected(await busy);
      const settled = performance.now() - aborted;
      if (verdict.verdict !== "ok") return verdict;
      const next = await outcome(() => subject.run("noop"));
      const after = performance.now() - aborted;
      return next.state === "resolved"
        ? ok(`${ms(settled)}, next task after ${ms(after)}`)
        : wrong("the next task HANGS");
    },
  },
];
