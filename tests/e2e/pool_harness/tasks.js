/** A worker of the pool's tests, whose tasks are JavaScript. */

import { javascriptTasks, serveTasks } from "/modules/page/task-server.js";

const VALUES = {
  zero: 0,
  minusZero: -0,
  false: false,
  empty: "",
  null: null,
  undefined: undefined,
  NaN: Number.NaN,
  bigZero: 0n,
};

const THROWN = {
  string: () => "just a string",
  emptyString: () => "",
  undefined: () => undefined,
  null: () => null,
  zero: () => 0,
  symbol: () => Symbol("sign"),
  function: () => () => {},
  bare: () => Object.create(null),
  revoked() {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  },
  getters: () => ({
    get message() {
      throw new Error("no message");
    },
    toString() {
      throw new Error("no text");
    },
  }),
  errorWithGetters: () =>
    Object.defineProperties(new Error("hidden"), {
      name: { get: () => fail() },
      message: { get: () => fail() },
      stack: { get: () => fail() },
      cause: { get: () => fail() },
    }),
  range: () => new RangeError("too far"),
  dom: () => new DOMException("nothing here", "NotFoundError"),
  own: () => new (class OddNumberError extends Error { name = "OddNumberError"; })("it is odd"),
  huge: () => Object.assign(new Error("m".repeat(1e6)), { name: "n".repeat(1e6), stack: "s".repeat(1e6) }),
  chain: () => new Error("outer", { cause: new TypeError("middle", { cause: "inner" }) }),
  cycle() {
    const [first, second] = [new Error("first"), new Error("second")];
    first.cause = second;
    second.cause = first;
    return first;
  },
  endless() {
    const link = () => Object.defineProperty(new Error("link"), "cause", { get: link });
    return link();
  },
};

function fail() {
  throw new Error("a getter that throws");
}

let filled = new Uint8Array(0);

const opened = async (cell) => {
  await Atomics.waitAsync(cell, 0, 0).value;
};

serveTasks(
  javascriptTasks({
    echo: (payload) => payload,
    value: (name) => VALUES[name],
    values: () => VALUES,
    throw(name) {
      throw THROWN[name]();
    },
    rejects: (name) => Promise.reject(THROWN[name]()),
    unclonable: () => ({ call: () => {} }),
    /** Answers with its payload once the gate is open; pays no heed to its signal. */
    async hold(cell) {
      await opened(cell);
      return "held";
    },
    /** The same, with the whole thread stopped. */
    block(cell) {
      Atomics.wait(cell, 0, 0);
      return "blocked";
    },
    /** Says that it has begun, then stops the thread. */
    announceAndBlock(cell, { onProgress }) {
      onProgress(0);
      Atomics.wait(cell, 0, 0);
      return "blocked";
    },
    /** Ends only when it is given up. */
    untilGivenUp: (_, { signal }) =>
      new Promise((_, reject) => {
        signal.onabort = () => reject(signal.reason);
      }),
    async steps(values, { onProgress }) {
      for (const value of values) onProgress(value);
      return "stepped";
    },
    close() {
      close();
      return new Promise(() => {});
    },
    closeAndAnswer() {
      close();
      return "last words";
    },
    errorLater() {
      setTimeout(() => {
        throw new Error("thrown by a timer");
      });
      return new Promise(() => {});
    },
    rejectLater() {
      Promise.reject(new RangeError("nobody handles this"));
      return new Promise(() => {});
    },
    /** Ends the worker as soon as it has nothing to do any longer. */
    errorWhenIdle() {
      setTimeout(() => {
        throw new Error("thrown between two tasks");
      });
      return "fine";
    },
    describe: (payload) => ({
      keys: Object.keys(payload),
      isBitmap: payload.bitmap instanceof ImageBitmap,
      width: payload.bitmap?.width,
    }),
    say({ port, text }) {
      port.postMessage(text);
      return "said";
    },
    fill(size) {
      filled = new Uint8Array(size).fill(7);
      return filled;
    },
    /** Bytes that are left here of what `fill` gave. */
    left: () => filled.byteLength,
    twice: (size) => {
      const array = new Uint8Array(size);
      return { first: array, second: array.subarray(1), again: array };
    },
    wasmMemory: () => new Uint8Array(new WebAssembly.Memory({ initial: 1 }).buffer),
    withMemory: () => ({
      own: new Uint8Array(100_000),
      memory: new Uint8Array(new WebAssembly.Memory({ initial: 1 }).buffer),
    }),
    nest(depth) {
      let nested = null;
      for (let level = 0; level < depth; level += 1) nested = { nested };
      return nested;
    },
    nestMaps(depth) {
      let nested = null;
      for (let level = 0; level < depth; level += 1) nested = new Map([[level, nested]]);
      return nested;
    },
  }),
);
