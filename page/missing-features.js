/**
 * What this browser lacks of what the page needs, found without trying it out.
 *
 * @returns {string[]} keys of sentences; empty when nothing is missing
 */
export function missingFeatures() {
  const missing = [];
  if (typeof WebAssembly !== "object") missing.push("missing.wasm");
  if (typeof Worker !== "function" || !hasModuleWorkers()) missing.push("missing.moduleWorker");
  if (typeof OffscreenCanvas !== "function" || typeof createImageBitmap !== "function") {
    missing.push("missing.canvas");
  }
  return missing;
}

/** A browser that knows module workers reads `type` from the options; others ignore it. */
function hasModuleWorkers() {
  let read = false;
  const options = {
    get type() {
      read = true;
      return /** @type {const} */ ("module");
    },
  };
  const url = URL.createObjectURL(new Blob([""], { type: "text/javascript" }));
  try {
    new Worker(url, options).terminate();
  } catch {
    // The policy of this page forbids workers from blobs; by then the options have been read.
  } finally {
    URL.revokeObjectURL(url);
  }
  return read;
}
