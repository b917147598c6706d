/**
 * What can't be sent is refused at once, and its worker stays free.
 */

import { outcome } from "../outcome.js";
import { andUsable, done, NOT_OFFERED, ok, rejected, started, wrong } from "./check.js";

/** @import { Check } from "./check.js" */

const QUEUE = 3;

/** @param {unknown} error */
const isDataCloneError = (error) =>
  error instanceof DOMException && error.name === "DataCloneError";

/**
 * @param {string} title
 * @param {() => unknown} payload
 * @returns {Check}
 */
const unclonable = (title, payload) => ({
  title,
  async run(adapter) {
    const subject = await started(adapter);
    const seen = await outcome(() => subject.run("echo", payload()));
    return andUsable(rejected(seen, isDataCloneError), subject);
  },
});

/**
 * @param {string} title
 * @param {string} task
 * @returns {Check}
 */
const unknown = (title, task) => ({
  title,
  async run(adapter) {
    const subject = await started(adapter);
    const seen = await outcome(() => subject.run(task));
    return andUsable(seen.state === "resolved" ? wrong("accepted") : rejected(seen), subject);
  },
});

/** @type {Check[]} */
export const refusals = [
  unclonable("a payload with a function", () => ({ call() {} })),
  unclonable("a payload with a DOM node", () => ({ node: document.body })),
  {
    title: "a buffer that was transferred before",
    async run(adapter) {
      const subject = await started(adapter);
      const bytes = new Uint8Array(8);
      const send = () => subject.run("bytes", bytes, { transfer: [bytes.buffer] });
      await outcome(send);
      return andUsable(rejected(await outcome(send), isDataCloneError), subject);
    },
  },
  {
    title: "the same buffer in two tasks that wait",
    async run(adapter) {
      const subject = await started(adapter);
      const bytes = new Uint8Array(8);
      const send = () => subject.run("bytes", bytes, { transfer: [bytes.buffer] });
      const running = outcome(() => subject.run("pause", 50));
      const [, first, second] = await Promise.all([running, outcome(send), outcome(send)]);
      if (first.state !== "resolved" || first.value !== 8) return wrong("the first is lost");
      return andUsable(rejected(second, isDataCloneError), subject);
    },
  },
  unknown("a task that nobody registered", "nothing-of-the-kind"),
  unknown("a task named `toString`", "toString"),
  {
    title: "a task too many for the queue, and one later",
    async run(adapter) {
      if (!adapter.offers.includes("bounded queue")) return NOT_OFFERED;
      const subject = await started(adapter, { maxQueue: QUEUE });
      const fitting = ["pause", ...Array(QUEUE).fill("echo")].map((task) =>
        outcome(() => subject.run(task, 100)),
      );
      const verdict = rejected(await outcome(() => subject.run("noop")));
      const seen = await Promise.all(fitting);
      const fits = seen.every(({ state }) => state === "resolved");
      return andUsable(fits ? verdict : wrong("one that fits is refused"), subject);
    },
  },
  {
    title: "a payload that is changed while its task waits",
    async run(adapter) {
      const subject = await started(adapter);
      const payload = { text: "as sent" };
      const running = outcome(() => subject.run("pause", 50));
      const waiting = outcome(() => subject.run("echo", payload));
      payload.text = "changed";
      await running;
      const { state, value } = await waiting;
      if (state !== "resolved") return done({ state, ms: 0 });
      return JSON.stringify(value).includes("as sent") ? ok() : wrong("arrives changed");
    },
  },
];
