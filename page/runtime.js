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
import { share, unshare } from "./runtime-shared.js";
import { checkSettings, checkSnapshot, headOf, linkLibraries } from "./runtime-snapshot.js";

/** @import { BootConfig, BootReport, Stage } from "./protocol.js" */
/** @import { Manifest } from "./runtime-files.js" */
/** @import { SharedRuntime } from "./runtime-shared.js" */
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
    boot: { ms: now(), path, fallback, versions, stages },
    ...(shared && { shared }),
    run: runner(
      bridge,
      path === "plain" ? async () => false : completer(python, config, manifest),
    ),
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
      const shared = /** @type {SharedRuntime} */ (config.shared);
      const { manifest, parts } = await unshare(shared, runtimeURL);
      const python = await restore(steps, manifest, parts);
      return { python, manifest, path: "shared", fallback: null, shared };
    } catch (error) {
      reasons.push(String(error));
    }
  }
  const wasm = inAdvance(downloads.module(WASM));
  const manifest = await downloads.manifest();
  if (isRestorable(manifest) && !config.plain) {
    try {
      const parts = await fetchParts(steps, manifest.snapshot, wasm);
      const python = await restore(steps, manifest, parts);
      const shared = share(runtimeURL, manifest, parts);
      return { python, manifest, path: "snapshot", fallback: reasons[0] ?? null, shared };
    } catch (error) {
      reasons.push(String(error));
    }
  }
  const python = await startPlainly(steps, manifest, wasm);
  return { python, manifest, path: "plain", fallback: reasons.join("; ") || null };
}

/**
 * @param {Manifest} manifest
 * @returns {manifest is Manifest & {snapshot: SnapshotRecord}}
 */
function isRestorable(manifest) {
  return manifest.snapshot !== null;
}

/**
 * @param {Boot} steps
 * @param {SnapshotRecord} record
 * @param {Promise<WebAssembly.Module>} compiling the interpreter
 * @returns {Promise<SnapshotParts>}
 */
async function fetchParts({ downloads }, record, compiling) {
  const files = record.libraries.map(({ file }) => file);
  downloads.expect([...SCRIPTS, WASM, record.file, ...files]);
  const [snapshot, wasm, ...libraries] = await Promise.all([
    checked(downloads.bytes(record.file), record),
    compiling,
    ...files.map((name) => downloads.module(name)),
  ]);
  return { snapshot, wasm, libraries };
}

/**
 * @param {Promise<ArrayBuffer>} pending
 * @param {SnapshotRecord} record
 */
async function checked(pending, record) {
  const snapshot = await pending;
  await checkSnapshot(snapshot, record);
  return snapshot;
}

/**
 * @param {Boot} steps
 * @param {Manifest & {snapshot: SnapshotRecord}} manifest
 * @param {SnapshotParts} parts
 * @returns {Promise<PyodideAPI>}
 */
async function restore(steps, manifest, parts) {
  const { config, downloads } = steps;
  const record = manifest.snapshot;
  const [{ loadPyodide, version }, { default: create }] = await Promise.all([
    steps.pyodide,
    steps.emscripten,
  ]);
  steps.ended("compile");
  if (version !== manifest.pyodide) {
    throw new Error(`the snapshot is for Pyodide ${manifest.pyodide}, this is ${version}`);
  }
  const files = new Map([[downloads.url(STDLIB), null]]);
  const python = await lending({ wasm: [downloads.url(WASM), parts.wasm], files }, () =>
    loadPyodide({
      ...options(config, manifest),
      _loadSnapshot: headOf(parts.snapshot, record),
      createPyodideModule: async (/** @type {{noInitialRun?: boolean}} */ settings) => {
        checkSettings(settings);
        /** @type {LinkedModule} */
        const module = await create(settings);
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
