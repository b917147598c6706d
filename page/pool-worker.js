import { whyNotLoaded } from "./pool-diagnosis.js";
import { areNames, errorFrom } from "./pool-messages.js";

/**
 * @import { ErrorMessage, FromWorker, ReadyMessage, Stage, ToWorker } from "./protocol.js"
 * @import { Done, Failed } from "./pool-state.js"
 */

/**
 * What a worker's owner hears of it.
 * @typedef {object} WorkerListener
 * @property {(stage: Stage) => void} onStage
 * @property {(message: ReadyMessage) => void} onReady
 * @property {(id: number, value: number) => void} onProgress
 * @property {(id: number, outcome: Done | Failed) => void} onAnswer
 * @property {(id: number) => void} onUnreadable it could not read the payload of this task
 * @property {(error: ErrorMessage) => void} onError it is no good any longer, whatever the reason
 * @property {() => void} onExit it ended without a word
 */

/** Milliseconds between two writes into the interrupt buffer: Python can miss a single one. */
const INTERRUPT_EVERY = 20;

/**
 * One worker and everything that belongs to its life: its listeners, its interrupt buffer, and its
 * lifeline, a lock that tells of a death that has no event.
 */
export class PoolWorker {
  #worker;
  #listener;
  /** @type {Uint8Array | undefined} */
  #interruptBuffer;
  /** @type {ReturnType<typeof setInterval> | undefined} */
  #interrupting;
  #end = new AbortController();
  /** The task that was sent last. */
  #latest = 0;

  /**
   * Starts the worker and tells it to boot.
   * @param {string | URL | (() => Worker)} url the worker's module, or what makes the worker
   * @param {object} config what the worker needs to boot
   * @param {WorkerListener} listener
   * @throws {unknown} what `new Worker` throws, or a DataCloneError for the config
   */
  constructor(url, config, listener) {
    this.#listener = listener;
    this.#worker = typeof url === "function" ? made(url) : new Worker(url, { type: "module" });
    this.#worker.onmessage = ({ data }) => this.#receive(data);
    this.#worker.onerror = (event) => {
      // What went wrong is told to whoever waits for it, so it is no error of the page.
      event.preventDefault();
      if (event.message) {
        listener.onError(described(event));
      } else {
        this.#diagnose(typeof url === "function" ? undefined : url);
      }
    };
    // Chromium's workers have no attribute `onmessageerror`.
    this.#worker.addEventListener(
      "messageerror",
      () => {
        const message = "A message from the worker could not be read";
        listener.onError({ name: "DataCloneError", message, traceback: "" });
      },
      { signal: this.#end.signal },
    );
    /** @type {{interruptBuffer?: Uint8Array, lifeline?: string}} */
    const own = {};
    if (globalThis.crossOriginIsolated) {
      this.#interruptBuffer = new Uint8Array(new SharedArrayBuffer(1));
      own.interruptBuffer = this.#interruptBuffer;
    }
    if (globalThis.navigator?.locks) {
      own.lifeline = `lifeline-${crypto.randomUUID()}`;
      this.lifeline = own.lifeline;
    }
    try {
      this.#post(/** @type {ToWorker} */ ({ type: "boot", config: { ...config, ...own } }));
    } catch (error) {
      this.terminate();
      throw error;
    }
  }

  /**
   * @param {number} id
   * @param {string} task
   * @param {unknown} payload
   * @param {Transferable[]} transfer
   * @throws {DOMException} DataCloneError when the payload cannot be cloned
   */
  run(id, task, payload, transfer) {
    this.#latest = id;
    this.#post({ type: "run", id, task, payload }, transfer);
  }

  /**
   * Asks the worker to stop its task, until `calm` or `terminate` is called.
   * @param {number} id
   */
  cancel(id) {
    this.#post({ type: "cancel", id });
    const buffer = this.#interruptBuffer;
    if (!buffer) return;
    buffer[0] = 2;
    this.#interrupting = setInterval(() => {
      buffer[0] = 2;
    }, INTERRUPT_EVERY);
  }

  /** Lets the worker's next task run undisturbed. */
  calm() {
    clearInterval(this.#interrupting);
    if (this.#interruptBuffer) this.#interruptBuffer[0] = 0;
  }

  /** Ends the worker; nothing is heard of it from now on. */
  terminate() {
    clearInterval(this.#interrupting);
    this.#end.abort();
    this.#worker.onmessage = null;
    this.#worker.onerror = null;
    this.#worker.terminate();
  }

  /**
   * @param {ToWorker} message
   * @param {Transferable[]} [transfer]
   */
  #post(message, transfer) {
    if (transfer?.length) {
      this.#worker.postMessage(message, transfer);
    } else {
      this.#worker.postMessage(message);
    }
  }

  /** @param {FromWorker} message */
  #receive(message) {
    const listener = this.#listener;
    switch (message?.type) {
      case "stage":
        listener.onStage(message);
        break;
      case "ready":
        if (!areNames(message.tasks)) {
          listener.onError(errorFrom("The worker is ready, but does not name its tasks"));
          break;
        }
        if (message.lifeline) this.#watch();
        listener.onReady(message);
        break;
      case "progress":
        listener.onProgress(message.id, message.value);
        break;
      case "done":
        listener.onAnswer(message.id, { kind: "done", result: message.result });
        break;
      case "failed":
        listener.onAnswer(message.id, { kind: "failed", error: errorFrom(message.error) });
        break;
      case "unreadable":
        listener.onUnreadable(this.#latest);
        break;
      case "boot-failed":
      case "fatal":
        listener.onError(errorFrom(message.error));
        break;
    }
  }

  /** @param {string | URL | undefined} url of a script that did not load */
  async #diagnose(url) {
    const message = await whyNotLoaded(url);
    if (this.#end.signal.aborted) return;
    this.#listener.onError({ name: "Error", message, traceback: "" });
  }

  /** Waits for the lock that the worker holds as long as it lives. */
  #watch() {
    if (this.lifeline === undefined) return;
    navigator.locks
      .request(this.lifeline, { signal: this.#end.signal }, () => this.#listener.onExit())
      // Aborted, or refused where a site may store nothing: then there is no lifeline.
      .catch(() => {});
  }
}

/**
 * @param {() => Worker} make
 * @returns {Worker}
 * @throws {TypeError} when it made something else
 */
function made(make) {
  const worker = make();
  if (typeof worker?.postMessage !== "function" || typeof worker.terminate !== "function") {
    throw new TypeError("The function given as `url` must return a Worker");
  }
  return worker;
}

/**
 * @param {ErrorEvent} event
 * @returns {ErrorMessage}
 */
function described({ message, filename, lineno, colno }) {
  return { name: "Error", message, traceback: `${filename}:${lineno}:${colno}` };
}
