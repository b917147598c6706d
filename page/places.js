import { site } from "./site.js";

/**
 * The two threads on which the same Python runs. Each boots at its first use and not before.
 *
 * @import { BootReport, Stage } from "./protocol.js"
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
  const forget = () => booted.delete(place);
  const booting = place === "main" ? bootHere(onStage) : bootWorker(onStage, forget);
  booted.set(place, booting);
  booting.catch(forget);
  return booting;
}

// The boot's own code is part of what waits for the first press.

/**
 * @param {(stage: Stage) => void} onStage
 * @returns {Promise<Runtime>}
 */
async function bootHere(onStage) {
  const { bootRuntime } = await import("./runtime.js");
  return bootRuntime({ runtimeURL: site.runtime.href }, onStage);
}

/**
 * A pool of one: a second task waits for the first, and a worker that dies is replaced.
 *
 * @param {(stage: Stage) => void} onStage
 * @param {() => void} onClosed called when a worker died and no other could take its place
 * @returns {Promise<Runtime>}
 */
async function bootWorker(onStage, onClosed) {
  const { WorkerPool } = await import("./pool.js");
  const pool = new WorkerPool({
    url: new URL("worker.js", site.assets),
    config: { runtimeURL: site.runtime.href },
    size: 1,
    onEvent(happening) {
      if (happening.type === "worker-stage") onStage(happening.stage);
      if (happening.type === "pool-closed") onClosed();
    },
  });
  const { tasks, boot } = await pool.ready;
  return {
    tasks: [...tasks],
    boot: /** @type {BootReport} */ (boot),
    run: (task, payload, options) => pool.run(task, payload, options),
  };
}
