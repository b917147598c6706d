/**
 * What the boot's tests do in the page: run tasks on one of both threads and describe the answers
 * in plain JSON.
 */

/**
 * Boots a worker and sends it all tasks at once, before it can be ready.
 * @param {{assets: string, config: object, runs?: {task: string, payload: unknown}[]}} options
 * @returns {Promise<object[]>} the messages, described, until every task is answered or the worker
 *   has given up
 */
export function inWorker({ assets, config, runs = [] }) {
  const worker = new Worker(`${assets}worker.js`, { type: "module" });
  worker.postMessage({ type: "boot", config });
  for (const [id, { task, payload }] of runs.entries()) {
    worker.postMessage({ type: "run", id, task, payload: withBytes(payload) });
  }
  return new Promise((resolve, reject) => {
    const messages = [];
    const open = new Set(runs.keys());
    worker.onerror = (event) => reject(new Error(event.message || "the worker did not load"));
    worker.onmessage = ({ data }) => {
      messages.push(describe(data));
      if (data.type === "done" || data.type === "failed") {
        open.delete(data.id);
      }
      const over = data.type === "boot-failed" || data.type === "fatal";
      if (over || (open.size === 0 && messages.some(({ type }) => type === "ready"))) {
        worker.terminate();
        resolve(messages);
      }
    };
  });
}

/**
 * Sends a worker one task after another and stops some of them on their way.
 * @param {{assets: string, config: object, steps: {task: string, payload: unknown,
 *   stop?: "cancel" | "interrupt" | "both", when?: "progress" | "sent"}[]}} options `cancel` sends
 *   the message, `interrupt` writes the shared byte until the answer; `sent` does so at once
 * @returns {Promise<object[]>} the messages, described
 */
export async function inTurn({ assets, config, steps }) {
  const interruptBuffer = new Uint8Array(new SharedArrayBuffer(1));
  const worker = new Worker(`${assets}worker.js`, { type: "module" });
  const messages = [];
  let heard = (_message) => {};
  worker.onmessage = ({ data }) => {
    messages.push(describe(data));
    heard(data);
  };
  const until = (...types) =>
    new Promise((resolve, reject) => {
      worker.onerror = (event) => reject(new Error(event.message || "the worker did not load"));
      heard = (message) => {
        if (message.type === "fatal" || message.type === "boot-failed") {
          reject(new Error(message.error.message));
        } else if (types.includes(message.type)) {
          resolve(message);
        }
      };
    });
  worker.postMessage({ type: "boot", config: { ...config, interruptBuffer } });
  await until("ready");
  for (const [id, { task, payload, stop, when = "progress" }] of steps.entries()) {
    worker.postMessage({ type: "run", id, task, payload: withBytes(payload) });
    if (stop && when === "progress") {
      await until("progress");
    }
    if (stop === "cancel" || stop === "both") {
      worker.postMessage({ type: "cancel", id });
    }
    let writing;
    if (stop === "interrupt" || stop === "both") {
      interruptBuffer[0] = 2;
      writing = setInterval(() => {
        interruptBuffer[0] = 2;
      }, 5);
    }
    await until("done", "failed");
    clearInterval(writing);
    interruptBuffer[0] = 0;
  }
  worker.terminate();
  return messages;
}

/**
 * Runs one task that is to end its worker.
 * @param {{assets: string, config: object, task: string, payload: unknown}} options
 * @returns {Promise<object[]>} what was seen of the end: the messages from the task on, an `error`
 *   event, and `gone` once the lock of a dead worker is free
 */
export async function toTheEnd({ assets, config, task, payload }) {
  const lifeline = `lifeline of ${task} ${Math.random()}`;
  const worker = new Worker(`${assets}worker.js`, { type: "module" });
  const seen = [];
  await new Promise((resolve) => {
    worker.onerror = (event) => {
      event.preventDefault();
      seen.push({ type: "error", message: event.message });
      resolve();
    };
    worker.onmessage = ({ data }) => {
      if (data.type === "ready") {
        navigator.locks.request(lifeline, () => {
          seen.push({ type: "gone" });
          resolve();
        });
        worker.postMessage({ type: "run", id: 0, task, payload });
      } else if (data.type !== "stage") {
        seen.push(describe(data));
        resolve();
      }
    };
    worker.postMessage({ type: "boot", config: { ...config, lifeline } });
  });
  worker.terminate();
  return seen;
}

/**
 * `inWorker` on the main thread; answers look like the worker's messages.
 * @param {{assets: string, config: object, runs?: {task: string, payload: unknown}[]}} options
 */
export async function onMain({ assets, config, runs = [] }) {
  const { bootRuntime } = await import(`${assets}page/runtime.js`);
  const { errorToMessage } = await import(`${assets}page/protocol.js`);
  const messages = [];
  const stage = (data) => messages.push({ type: "stage", ...data });
  try {
    const runtime = await bootRuntime(config, stage);
    messages.push({ type: "ready", tasks: runtime.tasks, boot: runtime.boot });
    for (const [id, { task, payload }] of runs.entries()) {
      const onProgress = (value) => messages.push({ type: "progress", id, value });
      try {
        const result = await runtime.run(task, withBytes(payload), { onProgress });
        messages.push(describe({ type: "done", id, result }));
      } catch (error) {
        messages.push({ type: "failed", id, error: errorToMessage(error) });
      }
    }
  } catch (error) {
    messages.push({ type: "boot-failed", error: errorToMessage(error) });
  }
  return messages;
}

/**
 * Boots a worker for what it shares.
 * @param {string} assets
 * @param {string} runtimeURL
 * @returns {Promise<object | undefined>} undefined when the boot fails
 */
export function sharedBy(assets, runtimeURL) {
  const worker = new Worker(`${assets}worker.js`, { type: "module" });
  worker.postMessage({ type: "boot", config: { runtimeURL } });
  return new Promise((resolve, reject) => {
    worker.onerror = (event) => reject(new Error(event.message || "the worker did not load"));
    worker.onmessage = ({ data }) => {
      if (data.type === "ready" || data.type === "boot-failed") {
        worker.terminate();
        resolve(data.shared);
      }
    };
  });
}

/** Turns `{bytes: [...]}` and `{base64: "..."}` into a Uint8Array, at any depth. */
function withBytes(value) {
  if (typeof value?.base64 === "string") {
    return Uint8Array.from(atob(value.base64), (letter) => letter.charCodeAt(0));
  }
  if (Array.isArray(value?.bytes)) {
    return new Uint8Array(value.bytes);
  }
  if (Array.isArray(value)) {
    return value.map(withBytes);
  }
  if (value !== null && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withBytes(inner)]));
  }
  return value;
}

/** Shows undefined and typed arrays in JSON. */
function describe(value) {
  if (value === undefined) {
    return { undefined: true };
  }
  if (ArrayBuffer.isView(value)) {
    const { byteLength } = value.buffer;
    return { array: value.constructor.name, values: [...value.subarray(0, 8)], byteLength };
  }
  if (Array.isArray(value)) {
    return value.map(describe);
  }
  if (value !== null && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, describe(inner)]));
  }
  return value;
}
