/**
 * A worker dies, loudly or silently: its task ends, and the others are done.
 */

import { outcome, tells } from "../outcome.js";
import { spawned } from "../spawned.js";
import { done, ms, ok, rejected, started, wrong } from "./check.js";

/** @import { Check } from "./check.js" */

const WAITING = 100;
/** @param {unknown} error */
const saysBoom = (error) => tells(error, "boom");

/**
 * @param {string} title
 * @param {string} task
 * @param {(error: unknown) => boolean} [hasReason]
 * @returns {Check}
 */
const dying = (title, task, hasReason) => ({
  title,
  async run(adapter) {
    const subject = await started(adapter);
    return rejected(await outcome(() => subject.run(task)), hasReason);
  },
});

/**
 * @param {string} title
 * @param {string} task
 * @returns {Check}
 */
const queuedBehind = (title, task) => ({
  title,
  async run(adapter) {
    const subject = await started(adapter);
    const first = outcome(() => subject.run(task));
    const second = await outcome(() => subject.run("noop"));
    await first;
    return done(second);
  },
});

/**
 * @param {string} title
 * @param {string} task
 * @returns {Check}
 */
const killedWithWaiting = (title, task) => ({
  title,
  async run(adapter) {
    const subject = await started(adapter);
    const all = [task, ...Array(WAITING).fill("noop")].map((name) =>
      outcome(() => subject.run(name)),
    );
    const seen = await Promise.all(all);
    const hanging = seen.filter(({ state }) => state === "hangs").length;
    const lost = seen.slice(1).filter(({ state }) => state !== "resolved").length;
    const last = Math.max(...seen.map((one) => one.ms));
    if (hanging > 0) return wrong(`${hanging} of ${WAITING + 1} HANG`);
    return lost > 0 ? wrong(`${lost} waiting tasks lost`) : ok(`all settled in ${ms(last)}`);
  },
});

/** @type {Check[]} */
export const deaths = [
  dying("an uncaught error while a task runs", "crash", saysBoom),
  queuedBehind("the task behind that crash", "crash"),
  {
    title: "a task sent after that crash",
    async run(adapter) {
      const subject = await started(adapter);
      await outcome(() => subject.run("crash"), 500);
      return done(await outcome(() => subject.run("noop")));
    },
  },
  killedWithWaiting(`a crash with ${WAITING} tasks waiting`, "crash"),
  dying("an unhandled rejection while a task runs", "unhandled", saysBoom),
  dying("`self.close()` in a task", "close"),
  queuedBehind("the task behind `self.close()`", "close"),
  killedWithWaiting(`\`self.close()\` with ${WAITING} tasks waiting`, "close"),
  {
    title: "a worker is terminated from outside while a task runs",
    async run(adapter) {
      const subject = await started(adapter);
      const running = outcome(() => subject.run("never"));
      spawned.at(-1)?.terminate();
      return rejected(await running);
    },
  },
  {
    title: "a worker is terminated from outside while idle, then a task",
    async run(adapter) {
      const subject = await started(adapter);
      spawned.at(-1)?.terminate();
      const lost = await outcome(() => subject.run("noop"));
      if (lost.state === "rejected") {
        return done(await outcome(() => subject.run("noop")));
      }
      return done(lost);
    },
  },
];
