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
  new Worker(new URL("./transfer-worker.js", import.meta.url), options).terminate();
  return read;
}
