/**
 * Python in this thread: the worker and the page's main thread boot it by the same function.
 */

import { TaskError } from "./protocol.js";

/** @import { BootConfig, BootReport, Stage } from "./protocol.js" */

/**
 * @typedef {object} Runtime
 * @property {string[]} tasks names that `run` knows
 * @property {BootReport} boot how the boot went
 * @property {(task: string, payload: unknown, onProgress?: (value: number) => void)
 *   => Promise<unknown>} run settles with the task's result, or rejects with a TaskError
 */

/**
 * Boots Python and returns it once the handlers are imported.
 * @param {BootConfig} config
 * @param {(stage: Stage) => void} onStage download progress and boot stages
 * @returns {Promise<Runtime>}
 */
export async function bootRuntime(config, onStage) {
  const started = performance.now();
  /** @type {Stage[]} */
  const stages = [];
  /** @param {string} name */
  const stage = (name) => {
    const ended = { name, ms: performance.now() - started };
    stages.push(ended);
    onStage(ended);
  };
  const { loadPyodide } = await import(`${config.runtimeURL}pyodide.mjs`);
  const pyodide = await loadPyodide({
    indexURL: config.runtimeURL,
    lockFileURL: `${config.runtimeURL}lock.json`,
    packages: ["workers-handlers"],
  });
  stage("interpreter");
  const bridge = pyodide.pyimport("handlers.browser");
  stage("handlers");
  if (config.interruptBuffer) {
    pyodide.setInterruptBuffer(config.interruptBuffer);
  }
  return {
    tasks: bridge.tasks(),
    boot: {
      ms: performance.now() - started,
      path: "plain",
      fallback: null,
      versions: bridge.versions(),
      stages,
    },
    async run(task, payload, onProgress) {
      const answer = bridge.answer(task, payload, onProgress);
      if ("error" in answer) {
        throw new TaskError(answer.error);
      }
      return answer.result;
    },
  };
}
