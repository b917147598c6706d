/**
 * Python in this thread: the worker and the page's main thread boot it by the same function.
 *
 * There are three ways. The fastest restores a memory snapshot, in which everything is imported
 * already, from what another thread has fetched and compiled; the next fetches the same by itself;
 * the plain one starts the interpreter and imports. All give the same runtime. Whatever goes wrong
 * on one of them leads to the next.
 */

import { Downloads } from "./runtime-files.js";
import { lending } from "./runtime-lend.js";
import { runner } from "./runtime-run.js";
import { partsOf, share, shareable, unshare } from "./runtime-shared.js";
import { checkSettings, checkSnapshot, linkLibraries } from "./runtime-snapshot.js";

/** @import { BootConfig, BootReport, Stage } from "./protocol.js" */
/** @import { Manifest } from "./runtime-files.js" */
/** @import { SharedRuntime, SnapshotManifest } from "./runtime-shared.js" */
/** @import { Run } from "./runtime-run.js" */
/** @import { LinkedModule, SnapshotParts, SnapshotRecord } from "./runtime-snapshot.js" */
/** @import { PyodideAPI } from "pyodide" */

/**
 * @typedef {object} Runtime
 * @property {string[]} tasks names that `run` knows
 * @property {BootReport} boot how the boot went
 * @property {SharedRuntime} [shared] what spares another thread's boot work, as its
 *   `config.shared`; missing after a plain boot
 * @property {Run} run settles with the task's result; rejects with a TaskError, or with a
 *   RuntimeBrokenError when Python cannot go on in this thread
 */

/**
 * What the boot's own steps share.
 * @typedef {object} Boot
 * @property {BootConfig} config
 * @property {Downloads} downloads
 * @property {Promise<any>} pyodide the module pyodide.mjs
 * @property {Promise<any>} emscripten the module pyodide.asm.mjs
 * @property {(name: string) => void} ended reports that a stage has ended
 */

/**
 * An interpreter that has started.
 * @typedef {object} Started
 * @property {PyodideAPI} python
 * @property {Manifest} manifest
 * @property {BootReport["path"]} path
 * @property {string | null} fallback
 * @property {SharedRuntime} [shared]
 */

const PACKAGE = "workers-handlers";
const WASM = "pyodide.asm.wasm";
const STDLIB = "python_stdlib.zip";
const SCRIPTS = ["pyodide.mjs", "pyodide.asm.mjs"];
const TIMEOUT_MS = 120_000;

/**
 * Boots Python and returns it once the handlers are imported.
 * @param {BootConfig} config
 * @param {(stage: Stage) => void} onStage download progress and boot stages
 * @returns {Promise<Runtime>}
 * @throws {Error} when a file cannot be loaded (the message names it), when Python does not start,
 *   or when that takes longer than `config.timeout`
 */
export async function bootRuntime(config, onStage) {
  const timeout = config.timeout ?? TIMEOUT_MS;
  const abort = new AbortController();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`Python did not start within ${timeout} ms`));
    }, timeout);
  });
  try {
    return await Promise.race([boot(config, onStage, abort.signal), late]);
  } finally {
    clearTimeout(timer);
    abort.abort();
  }
}

/**
 * @param {BootConfig} config
 * @param {(stage: Stage) => void} onStage
 * @param {AbortSignal} signal
 * @returns {Promise<Runtime>}
 */
async function boot(config, onStage, signal) {
  const started = performance.now();
  const now = () => performance.now() - started;
  /** @type {Stage[]} */
  const stages = [];
  const downloads = new Downloads(config.runtimeURL, signal, (bytes, total) => {
    onStage({ name: "download", ms: now(), bytes, total });
  });
  const [pyodide, emscripten] = SCRIPTS.map((name) => inAdvance(downloads.script(name)));
  /** @type {Boot} */
  const steps = {
    config,
    downloads,
    pyodide,
    emscripten,
    ended(name) {
      const stage = { name, ms: now() };
      stages.push(stage);
      onStage(stage);
    },
  };
  const { python, manifest, path, fallback, shared } = await start(steps);
  const bridge = python.pyimport("handlers.browser");
  if (config.interruptBuffer) {
    python.setInterruptBuffer(config.interruptBuffer);
  }
  const tasks = bridge.tasks();
  const versions = bridge.versions();
  steps.ended("handlers");
  return {
    tasks,
    boot: { ms: now(), path, fallback, versions, memory: memoryOf(python), stages },
    ...(shared && { shared }),
    run: runner(bridge, path === "plain" ? async () => false : completer(python, config, manifest)),
  };
}

/**
 * Marks a promise as one that is awaited later, so that its rejection is not taken for an
 * unhandled one until then.
 * @template T
 * @param {Promise<T>} promise
 * @returns {Promise<T>}
 */
function inAdvance(promise) {
  promise.catch(() => {});
  return promise;
}

/**
 * @param {Boot} steps
 * @returns {Promise<Started>}
 */
async function start(steps) {
  const { config, downloads } = steps;
  const { runtimeURL } = config;
  const reasons = [];
  if (config.shared !== undefined && !config.plain) {
    try {
      const shared = unshare(config.shared, runtimeURL);
      const { manifest, wasm } = shared;
      const python = await restore(steps, manifest, wasm, inAdvance(partsOf(shared)));
      return { python, manifest, path: "shared", fallback: null, shared };
    } catch (error) {
      reasons.push(String(error));
    }
  }
  const compiling = inAdvance(downloads.module(WASM));
  const manifest = await downloads.manifest();
  if (isRestorable(manifest) && !config.plain) {
    try {
      const fetching = inAdvance(fetchParts(downloads, manifest.snapshot));
      const python = await restore(steps, manifest, compiling, fetching);
      const shared = share(runtimeURL, manifest, await compiling, await fetching);
      return { python, manifest, path: "snapshot", fallback: reasons[0] ?? null, shared };
    } catch (error) {
      reasons.push(String(error));
    }
  }
  const python = await startPlainly(steps, manifest, compiling);
  return { python, manifest, path: "plain", fallback: reasons.join("; ") || null };
}

/**
 * @param {Manifest} manifest
 * @returns {manifest is SnapshotManifest}
 */
function isRestorable(manifest) {
  return manifest.snapshot !== null;
}

/**
 * @param {Downloads} downloads
 * @param {SnapshotRecord} record
 * @returns {Promise<SnapshotParts>}
 */
async function fetchParts(downloads, record) {
  const files = record.libraries.map(({ file }) => file);
  downloads.expect([...SCRIPTS, WASM, record.file, ...files]);
  const [snapshot, ...libraries] = await Promise.all([
    fetchSnapshot(downloads, record),
    ...files.map((name) => downloads.module(name)),
  ]);
  return { snapshot, libraries };
}

/**
 * @param {Downloads} downloads
 * @param {SnapshotRecord} record
 * @returns {Promise<ArrayBufferLike>}
 */
async function fetchSnapshot(downloads, record) {
  const bytes = await downloads.bytes(record.file);
  // The sum is computed in another thread, which leaves this one the time for the copy.
  const checking = checkSnapshot(bytes, record);
  const snapshot = shareable(bytes);
  await checking;
  return snapshot;
}

/**
 * Restores the snapshot. The interpreter is instantiated while the other parts arrive.
 * @param {Boot} steps
 * @param {SnapshotManifest} manifest
 * @param {WebAssembly.Module | Promise<WebAssembly.Module>} interpreter
 * @param {Promise<SnapshotParts>} pending
 * @returns {Promise<PyodideAPI>}
 */
async function restore(steps, manifest, interpreter, pending) {
  const { config, downloads } = steps;
  const record = manifest.snapshot;
  const [{ loadPyodide, version }, { default: create }, wasm] = await Promise.all([
    steps.pyodide,
    steps.emscripten,
    interpreter,
  ]);
  if (version !== manifest.pyodide) {
    throw new Error(`the snapshot is for Pyodide ${manifest.pyodide}, this is ${version}`);
  }
  const files = new Map([[downloads.url(STDLIB), null]]);
  const python = await lending({ wasm: [downloads.url(WASM), wasm], files }, () =>
    loadPyodide({
      ...options(config, manifest),
      _loadSnapshot: new Uint8Array(record.head),
      createPyodideModule: async (/** @type {{noInitialRun?: boolean}} */ settings) => {
        checkSettings(settings);
        const creating = create(settings);
        // What is lent must stay until nobody looks for it any longer, also if the parts fail.
        await Promise.allSettled([creating, pending]);
        /** @type {[LinkedModule, SnapshotParts]} */
        const [module, parts] = await Promise.all([creating, pending]);
        steps.ended("compile");
        await linkLibraries(module, record, parts);
        return module;
      },
    }),
  );
  // An empty archive would be read; one that is not there is a case that Python knows.
  python.FS.unlink(record.stdlib);
  python.pyimport("handlers.snapshot").wake();
  steps.ended("interpreter");
  return python;
}

/**
 * A restored interpreter has no files. When an import failed for that reason, the returned function
 * puts them in place.
 * @param {PyodideAPI} python
 * @param {BootConfig} config
 * @param {Manifest} manifest
 * @returns {() => Promise<boolean>}
 */
function completer(python, config, { snapshot }) {
  const { missed, filled } = python.pyimport("handlers.snapshot");
  let complete = false;
  return async () => {
    if (complete || !snapshot || !missed()) {
      return false;
    }
    const downloads = new Downloads(config.runtimeURL);
    await downloads.manifest();
    const stdlib = await downloads.bytes(STDLIB);
    python.FS.writeFile(snapshot.stdlib, new Uint8Array(stdlib));
    filled();
    await python.loadPackage(PACKAGE, { messageCallback() {} });
    complete = true;
    return true;
  };
}

/**
 * @param {Boot} steps
 * @param {Manifest} manifest
 * @param {Promise<WebAssembly.Module>} compiling the interpreter
 * @returns {Promise<PyodideAPI>}
 */
async function startPlainly(steps, manifest, compiling) {
  const { config, downloads } = steps;
  const wheels = Object.values(manifest.lock.packages).map(({ file_name: name }) => name);
  const others = [STDLIB, ...wheels];
  downloads.expect([...SCRIPTS, WASM, ...others]);
  const [contents, { loadPyodide }, wasm] = await Promise.all([
    Promise.all(others.map((name) => downloads.bytes(name))),
    steps.pyodide,
    compiling,
    steps.emscripten,
  ]);
  steps.ended("compile");
  const files = new Map(others.map((name, index) => [downloads.url(name), contents[index]]));
  const python = await lending({ wasm: [downloads.url(WASM), wasm], files }, () =>
    loadPyodide({ ...options(config, manifest), packages: [PACKAGE] }),
  );
  steps.ended("interpreter");
  return python;
}

/**
 * @param {BootConfig} config
 * @param {Manifest} manifest
 */
function options({ runtimeURL }, { lock }) {
  return { indexURL: runtimeURL, lockFileContents: lock, packageBaseUrl: runtimeURL };
}

/**
 * @param {PyodideAPI} python
 * @returns {number} bytes of its memory
 */
function memoryOf(python) {
  return /** @type {{_module: {HEAP8: Int8Array}}} */ (/** @type {unknown} */ (python))._module
    .HEAP8.length;
}
