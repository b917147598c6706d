/**
 * The messages between a page and its workers, and the pure functions that make them.
 *
 * Messages are plain objects told apart by `type`, never by whether a value is truthy.
 * Errors cross the border as plain objects: cloning an Error drops its class and its fields.
 */

/**
 * What a thread needs to boot Python. A worker of another kind takes whatever its `boot` wants; the
 * last three come from the pool.
 * @typedef {object} BootConfig
 * @property {string} runtimeURL folder of the runtime files, absolute, ends in `/`
 * @property {boolean} [plain] boot without the snapshot
 * @property {number} [timeout] milliseconds after which the boot fails; 120,000 unless given
 * @property {Uint8Array} [interruptBuffer] shared byte; 2 in it raises KeyboardInterrupt. A single
 *   write can get lost in Python (about one in sixty did), so write until the task has answered,
 *   and clear the byte before the next task is sent
 * @property {string} [lifeline] name of the Web Lock that the worker takes before it says `ready`
 *   and holds until it dies, so that the page learns of a death that has no event
 * @property {unknown} [shared] what an earlier worker gave away with its `ready`
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
 * @property {"shared" | "snapshot" | "plain"} path which way was taken: the snapshot restored from
 *   what another thread shared, from the files, or not at all
 * @property {string | null} fallback why a faster way was given up that seemed to be open
 * @property {{pyodide: string, python: string, numpy: string, pillow: string}} versions
 * @property {number} memory bytes of the interpreter's memory at the end of the boot; it never shrinks
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
 * @property {ErrorMessage} [cause] the error that led to this one
 */

/**
 * @typedef {{type: "boot", config: BootConfig}} BootMessage
 * @typedef {{type: "run", id: number, task: string, payload: unknown}} RunMessage
 * @typedef {{type: "cancel", id: number}} CancelMessage nobody waits for the task any longer
 * @typedef {BootMessage | RunMessage | CancelMessage} ToWorker
 *
 * @typedef {{type: "stage"} & Stage} StageMessage
 * @typedef {{type: "ready", tasks: string[], boot?: BootReport, shared?: unknown,
 *   lifeline?: boolean}} ReadyMessage `lifeline`: the worker holds the lock that it was told of
 * @typedef {{type: "boot-failed", error: ErrorMessage}} BootFailedMessage
 * @typedef {{type: "progress", id: number, value: number}} ProgressMessage
 * @typedef {{type: "done", id: number, result: unknown}} DoneMessage
 * @typedef {{type: "failed", id: number, error: ErrorMessage}} FailedMessage
 * @typedef {{type: "unreadable"}} UnreadableMessage the last message could not be read
 * @typedef {{type: "fatal", error: ErrorMessage}} FatalMessage
 * @typedef {StageMessage | ReadyMessage | BootFailedMessage | ProgressMessage | DoneMessage
 *   | FailedMessage | UnreadableMessage | FatalMessage} FromWorker
 */

/**
 * An error of a task, thrown on the page's side of the border. `name` is the class that was thrown
 * on the other side, `traceback` its frames there, `code` and `details` what the handlers say of a
 * failure that they foresee, `cause` the error that led to it.
 */
export class TaskError extends Error {
  /** @param {ErrorMessage} error */
  constructor({ name, message, traceback, code, details, cause }) {
    super(message, cause && { cause: new TaskError(cause) });
    this.name = name;
    this.traceback = traceback;
    this.code = code;
    this.details = details;
  }
}

/** What runs a worker's tasks is lost; only another worker can go on. */
export class RuntimeBrokenError extends Error {
  name = "RuntimeBrokenError";
}

const LONGEST_NAME = 200;
const LONGEST_MESSAGE = 10_000;
const LONGEST_TRACEBACK = 40_000;
const DEEPEST_CAUSE = 8;

/**
 * Whatever was thrown, as a plain object that can be cloned: no longer than a reader could want,
 * with its causes, and without ever throwing itself. Details that cannot be cloned are left out.
 * @param {unknown} thrown
 * @param {number} [depth] how many errors this one is the cause of
 * @returns {ErrorMessage}
 */
export function errorToMessage(thrown, depth = 0) {
  const error = asError(thrown);
  const field = (/** @type {string} */ name) => error && fieldOf(error, name);
  const text = error ? (field("message") ?? "") : thrown;
  /** @type {ErrorMessage} */
  const message = {
    name: shortened(written(field("name") ?? "Error"), LONGEST_NAME),
    message: shortened(written(text), LONGEST_MESSAGE),
    traceback: shortened(written(field("traceback") ?? field("stack") ?? ""), LONGEST_TRACEBACK),
  };
  if (error instanceof TaskError) {
    const details = cloned(error.details);
    if (error.code !== undefined) message.code = error.code;
    if (details !== undefined) message.details = details;
  }
  const cause = field("cause");
  if (cause !== undefined && depth < DEEPEST_CAUSE) {
    message.cause = errorToMessage(cause, depth + 1);
  }
  return message;
}

/**
 * @param {unknown} thrown
 * @returns {Error | DOMException | undefined} undefined for what is none, and for what refuses to be
 *   looked at
 */
export function asError(thrown) {
  try {
    return thrown instanceof Error || thrown instanceof DOMException ? thrown : undefined;
  } catch {
    return undefined;
  }
}

/**
 * @template T
 * @param {T} value
 * @returns {T | undefined} undefined when it cannot be cloned
 */
function cloned(value) {
  try {
    return structuredClone(value);
  } catch {
    return undefined;
  }
}

/**
 * @param {object} error
 * @param {string} name
 * @returns {unknown} undefined also where reading the field fails
 */
function fieldOf(error, name) {
  try {
    return /** @type {Record<string, unknown>} */ (error)[name];
  } catch {
    return undefined;
  }
}

/** @param {unknown} value */
function written(value) {
  try {
    return String(value);
  } catch {
    return "a value that cannot be written down";
  }
}

/**
 * @param {string} text
 * @param {number} longest
 */
function shortened(text, longest) {
  return text.length <= longest
    ? text
    : `${text.slice(0, longest)} … (${text.length - longest} more characters)`;
}

/** Bytes from which a transfer is worth its while. */
const LARGE = 16_384;

/**
 * Looks through a value that is to be sent.
 *
 * Only plain objects, arrays, maps and sets are searched: nothing else nests.
 * @param {unknown} value
 * @param {number} [deepest] objects that may lie in each other
 * @returns {ArrayBuffer[]} the buffers in it that are large enough to be worth a transfer, each of
 *   them once
 * @throws {DOMException} DataCloneError when more lie in each other
 */
export function largeBuffers(value, deepest = Number.POSITIVE_INFINITY) {
  if (typeof value !== "object") {
    return [];
  }
  /** @type {Set<ArrayBuffer>} */
  const found = new Set();
  /** @type {Set<object>} */
  const seen = new Set();
  let level = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > deepest) {
      throw new DOMException(`More than ${deepest} objects lie in each other`, "DataCloneError");
    }
    /** @type {(object | null)[]} */
    const below = [];
    for (const part of level) {
      if (part === null || seen.has(part)) continue;
      seen.add(part);
      const buffer = ArrayBuffer.isView(part) ? part.buffer : part;
      if (!(buffer instanceof ArrayBuffer)) {
        for (const inner of partsOf(part)) {
          if (typeof inner === "object") below.push(inner);
        }
      } else if (buffer.byteLength >= LARGE) {
        found.add(buffer);
      }
    }
    level = below;
  }
  return [...found];
}

/**
 * @param {object} whole
 * @returns {Iterable<any>}
 */
function partsOf(whole) {
  if (ArrayBuffer.isView(whole)) return [];
  if (Array.isArray(whole) || whole instanceof Set) return whole;
  return whole instanceof Map ? [...whole.keys(), ...whole.values()] : Object.values(whole);
}
