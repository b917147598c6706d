/**
 * A dedicated worker: boots the runtime and answers the messages of page/protocol.js.
 */

import { errorToMessage, largeBuffers } from "./page/protocol.js";
import { bootRuntime } from "./page/runtime.js";
import { RuntimeBrokenError } from "./page/runtime-run.js";

/** @import { BootConfig, FromWorker, RunMessage, ToWorker } from "./page/protocol.js" */
/** @import { Runtime } from "./page/runtime.js" */

const scope = /** @type {DedicatedWorkerGlobalScope} */ (/** @type {unknown} */ (globalThis));

/** @type {((runtime: Runtime) => void)} */
let booted;
/** Resolves with the runtime; stays pending for ever when the boot fails.
 * @type {Promise<Runtime>} */
const runtime = new Promise((resolve) => {
  booted = resolve;
});

/**
 * @param {FromWorker} message
 * @param {Transferable[]} [transfer]
 */
function send(message, transfer = []) {
  scope.postMessage(message, transfer);
}

scope.addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  send({ type: "fatal", error: errorToMessage(event.reason) });
});

scope.onmessage = ({ data }) => {
  const message = /** @type {ToWorker} */ (data);
  if (message.type === "boot") {
    boot(message.config);
  } else if (message.type === "run") {
    run(message);
  }
};

/** @param {BootConfig} config */
async function boot(config) {
  try {
    const started = await bootRuntime(config, (stage) => send({ type: "stage", ...stage }));
    send({ type: "ready", tasks: started.tasks, boot: started.boot });
    booted(started);
  } catch (error) {
    send({ type: "boot-failed", error: errorToMessage(error) });
  }
}

/** @param {RunMessage} message */
async function run({ id, task, payload }) {
  try {
    const { run: runTask } = await runtime;
    const result = await runTask(task, payload, (value) => send({ type: "progress", id, value }));
    send({ type: "done", id, result }, largeBuffers(result));
  } catch (error) {
    const message = errorToMessage(error);
    if (error instanceof RuntimeBrokenError) {
      send({ type: "fatal", error: message });
    } else {
      send({ type: "failed", id, error: message });
    }
  }
}
