import { site } from "./site.js";

/**
 * The two threads on which the same Python runs. Each boots at its first use and not before.
 *
 * @import { Stage } from "./protocol.js"
 * @import { Runtime } from "./runtime.js"
 * @typedef {"main" | "worker"} Place
 */

/** @type {Map<Place, Promise<Runtime>>} */
const booted = new Map();

/**
 * @param {Place} place
 * @param {(stage: Stage) => void} onStage called while it boots, not when it was booted before
 * @returns {Promise<Runtime>}
 * @throws {Error} when the boot fails; the next call tries again
 */
export function runtimeOn(place, onStage) {
  const known = booted.get(place);
  if (known) return known;
  const config = { runtimeURL: site.runtime.href };
  // The boot's own code is part of what waits for the first press.
  const booting =
    place === "main"
      ? import("./runtime.js").then(({ bootRuntime }) => bootRuntime(config, onStage))
      : import("./worker-thread.js").then(({ bootWorker }) =>
          bootWorker(new URL("worker.js", site.assets), config, onStage),
        );
  booted.set(place, booting);
  booting.catch(() => booted.delete(place));
  return booting;
}
