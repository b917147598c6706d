/**
 * What one boot leaves to later ones in other threads, so that they need not fetch, check and
 * compile it again.
 */

import { checkLength } from "./runtime-snapshot.js";

/** @import { Manifest } from "./runtime-files.js" */
/** @import { SnapshotParts, SnapshotRecord } from "./runtime-snapshot.js" */

/**
 * A manifest that speaks of a snapshot.
 * @typedef {Manifest & {snapshot: SnapshotRecord}} SnapshotManifest
 */

/**
 * Can be posted to any thread of the page, at next to no cost however large it is.
 * @typedef {object} SharedRuntime
 * @property {string} runtimeURL the runtime folder that it comes from
 * @property {SnapshotManifest} manifest
 * @property {WebAssembly.Module} wasm the interpreter
 * @property {WebAssembly.Module[]} libraries the extension modules, in the record's order
 * @property {SharedArrayBuffer | Blob} snapshot its bytes, the sum of which was right
 */

/**
 * Gives bytes the form in which `share` takes them without another copy.
 * @param {ArrayBuffer} bytes
 * @returns {ArrayBufferLike} the same bytes, in shared memory where the page may have that
 */
export function shareable(bytes) {
  if (!globalThis.crossOriginIsolated) {
    return bytes;
  }
  const memory = new SharedArrayBuffer(bytes.byteLength);
  new Uint8Array(memory).set(new Uint8Array(bytes));
  return memory;
}

/**
 * @param {string} runtimeURL
 * @param {SnapshotManifest} manifest
 * @param {WebAssembly.Module} wasm the interpreter
 * @param {SnapshotParts} parts with a snapshot that was checked
 * @returns {SharedRuntime}
 */
export function share(runtimeURL, manifest, wasm, { libraries, snapshot }) {
  // Posting a blob copies nothing either, which posting an ArrayBuffer would.
  const bytes = snapshot instanceof ArrayBuffer ? new Blob([snapshot]) : snapshot;
  return { runtimeURL, manifest, wasm, libraries, snapshot: bytes };
}

/**
 * Takes back out what was shared.
 * @param {unknown} shared
 * @param {string} runtimeURL the runtime folder that is to be booted
 * @returns {SharedRuntime}
 * @throws {Error} when it is not what `share` made, or is about another folder
 */
export function unshare(shared, runtimeURL) {
  const given = /** @type {Partial<SharedRuntime>} */ (shared ?? {});
  if (given.runtimeURL !== runtimeURL) {
    throw new Error(`what is shared is about ${given.runtimeURL}`);
  }
  const { manifest, wasm, libraries, snapshot } = given;
  if (!(manifest?.snapshot && snapshot && isModule(wasm) && libraries?.every(isModule))) {
    throw new Error("what is shared is not whole");
  }
  return { runtimeURL, manifest, wasm, libraries, snapshot };
}

/**
 * @param {unknown} value
 * @returns {value is WebAssembly.Module}
 */
function isModule(value) {
  return value instanceof WebAssembly.Module;
}

/**
 * @param {SharedRuntime} shared
 * @returns {Promise<SnapshotParts>}
 * @throws {Error} when the snapshot has another length than it must have
 */
export async function partsOf({ manifest, libraries, snapshot }) {
  const bytes = snapshot instanceof Blob ? await snapshot.arrayBuffer() : snapshot;
  checkLength(bytes, manifest.snapshot);
  return { libraries, snapshot: bytes };
}
