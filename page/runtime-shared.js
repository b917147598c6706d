/**
 * What one boot leaves to later ones in other threads, so that they need not fetch, check and
 * compile it again.
 */

/** @import { Manifest } from "./runtime-files.js" */
/** @import { SnapshotParts, SnapshotRecord } from "./runtime-snapshot.js" */

/**
 * Can be posted to any thread of the page, at next to no cost however large it is.
 * @typedef {object} SharedRuntime
 * @property {string} runtimeURL the runtime folder that it comes from
 * @property {Manifest & {snapshot: SnapshotRecord}} manifest
 * @property {WebAssembly.Module} wasm the interpreter
 * @property {WebAssembly.Module[]} libraries the extension modules, in the record's order
 * @property {SharedArrayBuffer | Blob} snapshot its bytes, the sum of which was right
 */

/**
 * Makes the parts of a snapshot ready to be shared.
 * @param {string} runtimeURL
 * @param {Manifest & {snapshot: SnapshotRecord}} manifest
 * @param {SnapshotParts} parts with a snapshot that was checked
 * @returns {SharedRuntime}
 */
export function share(runtimeURL, manifest, { wasm, libraries, snapshot }) {
  return { runtimeURL, manifest, wasm, libraries, snapshot: shareable(snapshot) };
}

/**
 * Takes back out what was shared.
 * @param {unknown} shared
 * @param {string} runtimeURL the runtime folder that is to be booted
 * @returns {Promise<{manifest: Manifest & {snapshot: SnapshotRecord}, parts: SnapshotParts}>}
 * @throws {Error} when it is not what `share` made, or is about another folder
 */
export async function unshare(shared, runtimeURL) {
  const { manifest, wasm, libraries, snapshot, ...other } = /** @type {Partial<SharedRuntime>} */ (
    shared ?? {}
  );
  if (other.runtimeURL !== runtimeURL) {
    throw new Error(`what is shared is about ${other.runtimeURL}, not ${runtimeURL}`);
  }
  if (!(manifest?.snapshot && wasm && libraries && snapshot)) {
    throw new Error("what is shared is not whole");
  }
  const bytes = snapshot instanceof Blob ? await snapshot.arrayBuffer() : snapshot;
  if (bytes.byteLength !== manifest.snapshot.bytes) {
    throw new Error(`the shared snapshot has ${bytes.byteLength} bytes`);
  }
  return { manifest, parts: { wasm, libraries, snapshot: bytes } };
}

/**
 * @param {ArrayBufferLike} bytes
 * @returns {SharedArrayBuffer | Blob} a blob where there is no shared memory: posting one copies
 *   nothing either
 */
function shareable(bytes) {
  if (!globalThis.crossOriginIsolated) {
    return new Blob([/** @type {ArrayBuffer} */ (bytes)]);
  }
  const memory = new SharedArrayBuffer(bytes.byteLength);
  new Uint8Array(memory).set(new Uint8Array(bytes));
  return memory;
}
