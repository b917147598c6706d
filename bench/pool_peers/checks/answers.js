/**
 * What a task returns or throws arrives as it was.
 */

import { outcome, tells } from "../outcome.js";
import { andUsable, ok, rejected, started, wrong } from "./check.js";

/** @import { Check } from "./check.js" */

const FALSY = [0, "", false, null, undefined, Number.NaN];

/**
 * @param {string} title
 * @param {string} task
 * @param {string} [kind]
 * @param {(error: unknown) => boolean} [hasReason]
 * @returns {Check}
 */
const throwing = (title, task, kind, hasReason) => ({
  title,
  async run(adapter) {
    const subject = await started(adapter);
    return andUsable(rejected(await outcome(() => subject.run(task, kind)), hasReason), subject);
  },
});

/**
 * @param {unknown} error
 * @returns {{name?: unknown, message?: unknown, cause?: unknown}} nothing, if it is no object
 */
const fieldsOf = (error) => (typeof error === "object" && error !== null ? error : {});

/** @type {Check[]} */
export const answers = [
  {
    title: '`0`, `""`, `false`, `null`, `undefined`, `NaN` as results',
    async run(adapter) {
      const subject = await started(adapter);
      for (const value of FALSY) {
        const seen = await outcome(() => subject.run("echo", value));
        if (seen.state === "hangs") return wrong("HANGS");
        if (seen.state !== "resolved" || !Object.is(seen.value, value)) {
          return wrong(`${String(value)} does not come back`);
        }
      }
      return ok();
    },
  },
  throwing("a task throws `''`", "throws", "empty"),
  throwing("a task throws `0`", "throws", "zero"),
  throwing("a task rejects with `undefined`", "rejects", "undefined"),
  throwing("a task throws `'sss'`", "throws", "text", (error) => tells(error, "sss")),
  throwing(
    "a thrown RangeError can be told by its name",
    "outOfRange",
    undefined,
    (error) => fieldsOf(error).name === "RangeError" && tells(error, "boom"),
  ),
  throwing(
    "the cause of an error comes along",
    "withCause",
    undefined,
    (error) => tells(error, "outer") && tells(fieldsOf(error).cause, "inner"),
  ),
  throwing("a result that can't be cloned", "unclonable", undefined, (error) =>
    /clone|serializ/i.test(String(fieldsOf(error).message)),
  ),
  {
    title: "a worker posts `null` and other messages of its own",
    async run(adapter) {
      const subject = await started(adapter);
      let uncaught = false;
      addEventListener("error", () => {
        uncaught = true;
      });
      const seen = await outcome(() => subject.run("chatters"));
      if (seen.state === "hangs") return wrong("HANGS");
      if (seen.state !== "resolved" || seen.value !== "answer") return wrong("another answer");
      return andUsable(uncaught ? wrong("uncaught error in the page") : ok(), subject);
    },
  },
];
