/**
 * The files of the runtime folder: all downloads of a boot, counted together.
 */

/** @import { SnapshotRecord } from "./runtime-snapshot.js" */

/**
 * What is in the runtime folder (`runtime.json`).
 * @typedef {object} Manifest
 * @property {string} pyodide version
 * @property {Record<string, number>} files length of each file in bytes
 * @property {import("pyodide").Lockfile} lock packages, as Pyodide wants to know them
 * @property {SnapshotRecord | null} snapshot
 */

/**
 * Downloads of one boot. Every error names the file that it is about.
 */
export class Downloads {
  #base;
  #signal;
  #onProgress;
  #bytes = 0;
  #total = 0;
  /** @type {Record<string, number>} */
  #sizes = {};
  /** @type {Set<string>} files that came whole before their size was known */
  #early = new Set();

  /**
   * @param {string} base the runtime folder, absolute, ends in `/`
   * @param {AbortSignal} [signal] ends all downloads
   * @param {(bytes: number, total: number) => void} [onProgress] bytes here and bytes expected,
   *   both after decompression
   */
  constructor(base, signal, onProgress = () => {}) {
    this.#base = base;
    this.#signal = signal;
    this.#onProgress = onProgress;
  }

  /**
   * Adds files to the number of bytes that are expected.
   * @param {string[]} names
   */
  expect(names) {
    for (const name of names) {
      this.#total += this.#sizes[name] ?? 0;
    }
    for (const name of this.#early) {
      this.#whole(name);
    }
    this.#early.clear();
  }

  /** @param {string} name */
  url(name) {
    return `${this.#base}${name}`;
  }

  /** @returns {Promise<Manifest>} */
  async manifest() {
    const response = await this.#fetch("runtime.json");
    const manifest = await this.#named("runtime.json", response.json());
    this.#sizes = manifest.files;
    return manifest;
  }

  /**
   * The contents of a file whose length the manifest knows.
   * @param {string} name
   * @returns {Promise<ArrayBuffer>}
   */
  async bytes(name) {
    const response = await this.#fetch(name);
    return this.#named(name, this.#read(response, this.#sizes[name]));
  }

  /**
   * A compiled WebAssembly module. It is counted when it is there: only the response as it came
   * from the network lets the browser keep the compiled code for the next visit.
   * @param {string} name
   * @returns {Promise<WebAssembly.Module>}
   */
  async module(name) {
    const response = await this.#fetch(name);
    const module = await this.#named(name, WebAssembly.compileStreaming(response));
    this.#whole(name);
    return module;
  }

  /**
   * A JavaScript module. It, too, is counted when it is there.
   * @param {string} name
   * @returns {Promise<any>}
   */
  async script(name) {
    const module = await this.#named(name, import(this.url(name)));
    this.#whole(name);
    return module;
  }

  /** @param {string} name */
  async #fetch(name) {
    const response = await this.#named(
      name,
      fetch(this.url(name), { signal: this.#signal ?? null }),
    );
    if (!response.ok) {
      throw new Error(`${name} could not be loaded: ${response.status} ${response.statusText}`);
    }
    return response;
  }

  /**
   * @template T
   * @param {string} name
   * @param {Promise<T>} pending
   * @returns {Promise<T>}
   */
  async #named(name, pending) {
    try {
      return await pending;
    } catch (error) {
      throw new Error(`${name} could not be loaded: ${error}`, { cause: error });
    }
  }

  /**
   * @param {Response} response
   * @param {number} size
   */
  async #read(response, size) {
    const content = new Uint8Array(size);
    let length = 0;
    const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      if (length + part.value.length > size) {
        throw new Error(`it is longer than ${size} bytes`);
      }
      content.set(part.value, length);
      length += part.value.length;
      this.#report(part.value.length);
    }
    if (length !== size) {
      throw new Error(`it has ${length} bytes instead of ${size}`);
    }
    return content.buffer;
  }

  /** @param {string} name */
  #whole(name) {
    if (this.#total === 0) {
      this.#early.add(name);
    } else {
      this.#report(this.#sizes[name] ?? 0);
    }
  }

  /** @param {number} bytes */
  #report(bytes) {
    this.#bytes += bytes;
    if (this.#total > 0) {
      this.#onProgress(this.#bytes, this.#total);
    }
  }
}
