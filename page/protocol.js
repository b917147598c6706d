/**
 * The messages between a page and its workers, and the pure functions that make them.
 *
 * Messages are plain objects told apart by `type`, never by whether a value is truthy.
 * Errors cross the border as plain objects: cloning an Error drops its class and its fields.
 */

/**
 * What a thread needs to boot Python.
 * @typedef {object} BootConfig
 * @property {string} runtimeURL folder of the runtime files, absolute, ends in `/`
 * @property {WebAssembly.Module} [module] the interpreter, compiled by somebody else already
 * @property {ArrayBuffer} [snapshot] the bytes of the memory snapshot, fetched already
 * @property {Uint8Array} [interruptBuffer] shared byte; 2 in it raises KeyboardInterrupt. A single
 *   write can get lost in Python (about one in sixty did), so write until the task has answered,
 *   and clear the byte before the next task is sent
 * @property {boolean} [plain] boot without the snapshot
 * @property {number} [timeout] milliseconds after which the boot fails; 120,000 unless given
 */

/**
 * A step of the boot. While files arrive, `name` is `download` and `bytes` of `total` are here;
 * any other name says that this step has ended.
 * @typedef {object} Stage
 * @property {string} name `download`, `compile`, `interpreter`, `packages` or `handlers`
 * @property {number} ms milliseconds since the boot began
 * @property {number} [bytes] bytes that have arrived, after decompression
 * @property {number} [total] bytes that will arrive, after decompression
 */

/**
 * How the boot went.
 * @typedef {object} BootReport
 * @property {number} ms milliseconds from the call to the last stage
 * @property {"snapshot" | "plain"} path which way was taken
 * @property {string | null} fallback why the plain way was taken although a snapshot was there
 * @property {{pyodide: string, python: string, numpy: string, pillow: string}} versions
 * @property {Stage[]} stages every stage except the running count of the download
 */

/**
 * An error as a plain object.
 * @typedef {object} ErrorMessage
 * @property {string} name class of the error, as Python or JavaScript calls it
 * @property {string} message one sentence
 * @property {string} traceback the frames of this project, or the JavaScript stack; may be empty
 * @property {string} [code] stable word for a failure that the handlers foresee
 * @property {Record<string, unknown>} [details] what a translated sentence needs
 */

/**
 * @typedef {{type: "boot", config: BootConfig}} BootMessage
 * @typedef {{type: "run", id: number, task: string, payload: unknown}} RunMessage
 * @typedef {BootMessage | RunMessage} ToWorker
 *
 * @typedef {{type: "stage"} & Stage} StageMessage
 * @typedef {{type: "ready", tasks: string[], boot: BootReport}} ReadyMessage
 * @typedef {{type: "boot-failed", error: ErrorMessage}} BootFailedMessage
 * @typedef {{type: "progress", id: number, value: number}} ProgressMessage
 * @typedef {{type: "done", id: number, result: unknown}} DoneMessage
 * @typedef {{type: "failed", id: number, error: ErrorMessage}} FailedMessage
 * @typedef {{type: "fatal", error: ErrorMessage}} FatalMessage
 * @typedef {StageMessage | ReadyMessage | BootFailedMessage | ProgressMessage | DoneMessage
 *   | FailedMessage | FatalMessage} FromWorker
 */

/**
 * An error of a task, thrown on the page's side of the border.
 */
export class TaskError extends Error {
  /** @param {ErrorMessage} error */
  constructor(error) {
    super(error.message);
    this.name = error.name;
    this.traceback = error.traceback;
    this.code = error.code;
    this.details = error.details;
  }
}

/**
 * Whatever was thrown, as a plain object that can be cloned.
 * @param {unknown} thrown
 * @returns {ErrorMessage}
 */
export function errorToMessage(thrown) {
  if (thrown instanceof TaskError) {
    /** @type {ErrorMessage} */
    const message = {
      name: thrown.name,
      message: thrown.message,
      traceback: thrown.traceback,
    };
    if (thrown.code !== undefined) {
      message.code = thrown.code;
    }
    if (thrown.details !== undefined) {
      message.details = thrown.details;
    }
    return message;
  }
  if (thrown instanceof Error || thrown instanceof DOMException) {
    return {
      name: thrown.name,
      message: thrown.message,
      traceback: thrown.stack ?? "",
    };
  }
  return { name: "Error", message: String(thrown), traceback: "" };
}

/**
 * The buffers in a result that are large enough to be worth a transfer, each of them once.
 *
 * Only plain objects and arrays are searched, because the runtime's results consist of nothing
 * else.
 * @param {unknown} value
 * @param {number} [atLeast] bytes from which a buffer counts as large
 * @returns {ArrayBuffer[]}
 */
export function largeBuffers(value, atLeast = 16_384) {
  /** @type {Set<ArrayBuffer>} */
  const found = new Set();
  /** @type {Set<object>} */
  const seen = new Set();
  /** @param {unknown} part */
  const search = (part) => {
    if (typeof part !== "object" || part === null || seen.has(part)) {
      return;
    }
    seen.add(part);
    const buffer = ArrayBuffer.isView(part) ? part.buffer : part;
    if (buffer instanceof ArrayBuffer) {
      if (buffer.byteLength >= atLeast) {
        found.add(buffer);
      }
      return;
    }
    for (const inner of Array.isArray(part) ? part : Object.values(part)) {
      search(inner);
    }
  };
  search(value);
  return [...found];
}
