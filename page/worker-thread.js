import { TaskError } from "./protocol.js";

/**
 * @import { BootConfig, FromWorker, Stage, ToWorker } from "./protocol.js"
 * @import { Runtime } from "./runtime.js"
 */

/**
 * Boots Python in a dedicated worker of its own and returns it in the same shape as
 * `bootRuntime` does for this thread.
 *
 * One task at a time: a second `run` waits for the first. Every `run` settles; a worker that
 * breaks rejects what it was doing and everything after it.
 *
 * @param {URL} url the worker's module
 * @param {BootConfig} config
 * @param {(stage: Stage) => void} onStage
 * @returns {Promise<Runtime>}
 * @throws {TaskError} when the worker's script cannot be loaded, or its boot fails
 */
export function bootWorker(url, config, onStage) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(url, { type: "module" });
    /** @type {Map<number, {resolve: (result: unknown) => void, reject: (error: Error) => void, onProgress: ((value: number) => void) | undefined}>} */
    const running = new Map();
    /** @type {Error | undefined} */
    let broken;
    let lastId = 0;
    /** @type {Promise<unknown>} */
    let queue = Promise.resolve();

    /** @param {ToWorker} message @param {Transferable[]} [transfer] */
    const post = (message, transfer = []) => worker.postMessage(message, transfer);

    /** @param {Error} error */
    const breakDown = (error) => {
      broken = error;
      worker.terminate();
      reject(error);
      for (const task of running.values()) task.reject(error);
      running.clear();
    };

    /** @type {Runtime["run"]} */
    const run = (task, payload, { onProgress } = {}) => {
      const next = queue.then(
        () =>
          new Promise((done, failed) => {
            if (broken) {
              failed(broken);
              return;
            }
            lastId += 1;
            running.set(lastId, { resolve: done, reject: failed, onProgress });
            try {
              post({ type: "run", id: lastId, task, payload });
            } catch (error) {
              running.delete(lastId);
              throw error;
            }
          }),
      );
      queue = next.catch(() => {});
      return next;
    };

    /** @param {FromWorker} message */
    const receive = (message) => {
      switch (message.type) {
        case "stage":
          onStage(message);
          break;
        case "ready":
          resolve({ tasks: message.tasks, boot: /** @type {any} */ (message.boot), run });
          break;
        case "boot-failed":
        case "fatal":
          breakDown(new TaskError(message.error));
          break;
        case "progress":
          running.get(message.id)?.onProgress?.(message.value);
          break;
        case "done":
          running.get(message.id)?.resolve(message.result);
          running.delete(message.id);
          break;
        case "failed":
          running.get(message.id)?.reject(new TaskError(message.error));
          running.delete(message.id);
          break;
      }
    };

    worker.onmessage = ({ data }) => receive(data);
    worker.onerror = (event) => {
      event.preventDefault();
      const message = event.message || `The worker's script could not be loaded: ${url.href}`;
      breakDown(new TaskError({ name: "WorkerCrashedError", message, traceback: "" }));
    };
    worker.onmessageerror = () => {
      const message = "A message from the worker could not be read";
      breakDown(new TaskError({ name: "WorkerCrashedError", message, traceback: "" }));
    };
    post({ type: "boot", config });
  });
}
