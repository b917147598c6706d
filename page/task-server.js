/**
 * The worker's side of the messages in protocol.js: a worker that calls `serveTasks` can be one of
 * a WorkerPool.
 */

import { asError, errorToMessage, largeBuffers, RuntimeBrokenError } from "./protocol.js";

/** @import { BootConfig, BootReport, FromWorker, RunMessage, Stage, ToWorker } from "./protocol.js" */

/**
 * How a task runs.
 * @typedef {object} RunOptions
 * @property {(value: number) => void} [onProgress] takes values from 0 to 1
 * @property {AbortSignal} [signal] aborted when nobody waits for the task any longer
 */

/**
 * What a worker can do once it has booted.
 * @typedef {object} TaskRunner
 * @property {string[]} tasks names that `run` knows
 * @property {BootReport} [boot] how the boot went
 * @property {unknown} [shared] what spares a later worker work, as its `config.shared`
 * @property {(task: string, payload: unknown, options: RunOptions) => unknown} run returns the
 *   result or a promise of it
 */

const scope = /** @type {DedicatedWorkerGlobalScope} */ (/** @type {unknown} */ (globalThis));

/**
 * Answers the messages of a page from now on. To be called before the first `await` of the worker's
 * module, or what the page has sent by then is lost.
 *
 * Every `run` is answered once, also with a result that cannot be cloned (as a failure). A rejection
 * that nobody handles, a RuntimeBrokenError, and a message that cannot be read, are reported as fatal:
 * they leave the worker in a state that nobody knows.
 * @param {(config: BootConfig, onStage: (stage: Stage) => void) => Promise<TaskRunner>} boot
 */
export function serveTasks(boot) {
  /** @type {(runner: TaskRunner) => void} */
  let booted;
  /** Stays pending for ever when the boot fails.
   * @type {Promise<TaskRunner>} */
  const runner = new Promise((resolve) => {
    booted = resolve;
  });
  /** The same, once it is there: to wait for a promise takes its time, each time.
   * @type {TaskRunner | undefined} */
  let current;
  /** @type {Map<number, Call>} */
  const running = new Map();

  /** @param {BootConfig} config */
  const start = async (config) => {
    try {
      const [started, lifeline] = await Promise.all([
        boot(config, (stage) => send({ type: "stage", ...stage })),
        config.lifeline !== undefined && holdForLife(config.lifeline),
      ]);
      const { tasks, boot: report, shared } = started;
      send({
        type: "ready",
        tasks,
        lifeline,
        ...(report && { boot: report }),
        ...(shared !== undefined && { shared }),
      });
      current = started;
      booted(started);
    } catch (error) {
      send({ type: "boot-failed", error: errorToMessage(error) });
    }
  };

  /** @param {RunMessage} message */
  const run = async ({ id, task, payload }) => {
    const call = new Call(id);
    running.set(id, call);
    try {
      const able = current ?? (await runner);
      sendResult(id, await able.run(task, payload, call));
    } catch (error) {
      const message = errorToMessage(error);
      send(
        asError(error) instanceof RuntimeBrokenError
          ? { type: "fatal", error: message }
          : { type: "failed", id, error: message },
      );
    } finally {
      running.delete(id);
    }
  };

  scope.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    send({ type: "fatal", error: errorToMessage(event.reason) });
  });

  scope.onmessageerror = () => send({ type: "unreadable" });

  scope.onmessage = ({ data }) => {
    const message = /** @type {ToWorker | null} */ (data);
    switch (message?.type) {
      case undefined:
        // That is how Chromium says that objects lie too deep in each other.
        if (message === null) send({ type: "unreadable" });
        break;
      case "boot":
        start(message.config);
        break;
      case "run":
        run(message);
        break;
      case "cancel":
        running.get(message.id)?.cancel();
        break;
    }
  };
}

/**
 * A boot for tasks that are JavaScript functions.
 * @param {Record<string, (payload: any, options: {onProgress: (value: number) => void,
 *   signal: AbortSignal}) => unknown>} tasks by name; what they return or resolve to is the result
 * @returns {(config: unknown) => Promise<TaskRunner>}
 */
export function javascriptTasks(tasks) {
  const known = new Map(Object.entries(tasks));
  return async () => ({
    tasks: [...known.keys()],
    run(name, payload, options) {
      const task = known.get(name);
      if (!task) {
        throw new RangeError(`There is no task named ${name}`);
      }
      return task(payload, /** @type {Required<RunOptions>} */ (options));
    },
  });
}

/** What a running task has of its caller. A signal is made only for a task that looks at it. */
class Call {
  #id;
  /** @type {AbortController | undefined} */
  #controller;

  /** @param {number} id */
  constructor(id) {
    this.#id = id;
  }

  /** @type {(value: number) => void} */
  onProgress = (value) => send({ type: "progress", id: this.#id, value });

  get signal() {
    this.#controller ??= new AbortController();
    return this.#controller.signal;
  }

  cancel() {
    this.#controller ??= new AbortController();
    this.#controller.abort();
  }
}

/**
 * @param {FromWorker} message
 * @param {Transferable[]} [transfer]
 */
function send(message, transfer) {
  if (transfer?.length) {
    scope.postMessage(message, transfer);
  } else {
    scope.postMessage(message);
  }
}

/**
 * Large buffers are transferred, unless one of them belongs to a WebAssembly memory and cannot be.
 * @param {number} id
 * @param {unknown} result
 * @throws {DOMException} DataCloneError when the result cannot be cloned
 */
function sendResult(id, result) {
  if (typeof result !== "object") {
    send({ type: "done", id, result });
    return;
  }
  // Those come first, so that they are refused before any other is detached.
  const buffers = largeBuffers(result, DEEPEST).sort((a, b) => unlikeMemory(a) - unlikeMemory(b));
  try {
    send({ type: "done", id, result }, buffers);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    send({ type: "done", id, result });
  }
}

/**
 * @param {ArrayBuffer} buffer
 * @returns {number} what is left when it is divided into pages of a WebAssembly memory
 */
const unlikeMemory = ({ byteLength }) => byteLength % 65_536;

/** Objects that may lie in each other: from some more on a page fails to read them, without a word. */
const DEEPEST = 500;

/**
 * Takes a lock that only the end of this worker releases.
 * @param {string} name
 * @returns {Promise<boolean>} false where the browser has no such locks, or refuses them because the
 *   site may store nothing
 */
function holdForLife(name) {
  if (!scope.navigator.locks) {
    return Promise.resolve(false);
  }
  return new Promise((resolve) => {
    scope.navigator.locks
      .request(name, () => {
        resolve(true);
        return new Promise(() => {});
      })
      .catch(() => resolve(false));
  });
}
