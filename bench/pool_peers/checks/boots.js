/**
 * A worker that never gets ready: every task ends with the reason, and nothing is started for ever.
 */

import { BOOT_LIMIT, outcome, tells } from "../outcome.js";
import { spawned } from "../spawned.js";
import { rejected, wrong } from "./check.js";

/** @import { Check } from "./check.js" */

const WATCHED_MS = 1500;
const MOST_WORKERS = 10;
const BOOT_TIMEOUT_MS = 500;
const SHORT_BOOT_TIMEOUT_MS = 150;

/**
 * @param {string} title
 * @param {string} script
 * @param {(error: unknown) => boolean} hasReason
 * @param {number} [bootTimeout]
 * @returns {Check}
 */
const notBooting = (title, script, hasReason, bootTimeout = BOOT_TIMEOUT_MS) => ({
  title,
  async run(adapter) {
    // Some packages reject a promise of their own besides, which nobody can handle.
    addEventListener("unhandledrejection", (event) => event.preventDefault());
    const watched = new Promise((resolve) => setTimeout(resolve, WATCHED_MS));
    const subject = adapter.create({ workers: 1, script, bootTimeout });
    const seen = await outcome(() => subject.run("noop"), BOOT_LIMIT);
    await watched;
    const detail = spawned.length > 1 ? `${spawned.length} attempts` : undefined;
    if (spawned.length > MOST_WORKERS) return wrong("starts workers without end", detail);
    return { ...rejected(seen, hasReason), detail };
  },
});

// For a script that is missing or is no JavaScript, the browser's event says nothing at all: the
// least an error can do is to name the script.
/** @type {Check[]} */
export const boots = [
  notBooting("the worker's script is missing", "workers/missing.js", (error) =>
    tells(error, "workers/missing.js"),
  ),
  notBooting("the worker's script has a syntax error", "workers/syntax.js", (error) =>
    tells(error, "workers/syntax.js"),
  ),
  notBooting("the worker's script throws", "workers/throws.js", (error) =>
    tells(error, "boom at load"),
  ),
  notBooting(
    "the worker never says that it is ready",
    "workers/silent.js",
    (error) => tells(error, String(SHORT_BOOT_TIMEOUT_MS)),
    SHORT_BOOT_TIMEOUT_MS,
  ),
];
