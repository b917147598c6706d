/**
 * Python in this thread: the worker and the page's main thread boot it by the same function.
 *
 * There are two ways. The fast one restores a memory snapshot in which everything is imported
 * already; the plain one starts the interpreter and imports. Both give the same runtime. Whatever
 * goes wrong on the fast way leads to the plain one.
 */

import { Downloads } from "./runtime-files.js";
import { lending } from "./runtime-lend.js";
import { runner } from "./runtime-run.js";
import { checkSettings, checkSnapshot, headOf, linkLibraries } from "./runtime-snapshot.js";

/** @import { BootConfig, BootReport, Stage } from "./protocol.js" */
/** @import { Manifest } from "./runtime-files.js" */
/** @import { LinkedModule, SnapshotRecord } from "./runtime-snapshot.js" */
/** @import { PyodideAPI } from "pyodide" */

/**
 * @typedef {object} Runtime
 * @property {string[]} tasks names that `run` knows
 * @property {BootReport} boot how the boot went
 * @property {(task: string, payload: unknown, onProgress?: (value: number) => void)
 *   => Promise<unknown>} run settles with the task's result; rejects with a TaskError, or with a
 *   RuntimeBrokenError when Python cannot go on in this thread
 */

/**
 * What the boot's own steps share.
 * @typedef {object} Boot
 * @property {BootConfig} config
 * @property {Downloads} downloads
 * @property {Manifest} manifest
 * @property {Promise<any>} pyodide the module pyodide.mjs
 * @property {Promise<any>} emscripten the module pyodide.asm.mjs
 * @property {Promise<WebAssembly.Module>} wasm
 * @property {(name: string) => void} ended reports that a stage has ended
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
  const wasm = inAdvance(config.module ? Promise.resolve(config.module) : downloads.module(WASM));
  /** @type {Boot} */
  const steps = {
    config,
    downloads,
    manifest: await downloads.manifest(),
    pyodide,
    emscripten,
    wasm,
    ended(name) {
      const stage = { name, ms: now() };
      stages.push(stage);
      onStage(stage);
    },
  };
  const { python, path, fallback } = await start(steps);
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
    run: runner(bridge.answer, path === "snapshot" ? completer(python, steps) : async () => false),
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
 * @returns {Promise<{python: PyodideAPI, path: "snapshot" | "plain", fallback: string | null}>}
 */
async function start(steps) {
  const { snapshot } = steps.manifest;
  let fallback = null;
  if (snapshot && !steps.config.plain) {
    try {
      return { python: await restore(steps, snapshot), path: "snapshot", fallback };
    } catch (error) {
      fallback = String(error);
    }
  }
  return { python: await startPlainly(steps), path: "plain", fallback };
}

/**
 * @param {Boot} steps
 * @param {SnapshotRecord} record
 * @returns {Promise<PyodideAPI>}
 */
async function restore(steps, record) {
  const { config, downloads, manifest } = steps;
  const libraries = record.libraries.map(({ file }) => file);
  downloads.expect([
    ...SCRIPTS,
    ...libraries,
    ...(config.module ? [] : [WASM]),
    ...(config.snapshot ? [] : [record.file]),
  ]);
  const [snapshot, compiled, { default: create }, { loadPyodide, version }, wasm] =
    await Promise.all([
      checked(config.snapshot ?? downloads.bytes(record.file), record),
      Promise.all(libraries.map((name) => downloads.module(name))),
      steps.emscripten,
      steps.pyodide,
      steps.wasm,
    ]);
  steps.ended("compile");
  if (version !== manifest.pyodide) {
    throw new Error(`the snapshot is for Pyodide ${manifest.pyodide}, this is ${version}`);
  }
  const modules = new Map(libraries.map((name, index) => [name, compiled[index]]));
  const files = new Map([[downloads.url(STDLIB), null]]);
  const python = await lending({ wasm: [downloads.url(WASM), wasm], files }, () =>
    loadPyodide({
      ...options(steps),
      _loadSnapshot: headOf(snapshot, record),
      createPyodideModule: async (/** @type {{noInitialRun?: boolean}} */ settings) => {
        checkSettings(settings);
        /** @type {LinkedModule} */
        const module = await create(settings);
        await linkLibraries(module, snapshot, record, modules);
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
 * @param {Boot} steps
 * @returns {() => Promise<boolean>}
 */
function completer(python, { config, manifest: { snapshot } }) {
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
 * @param {ArrayBuffer | Promise<ArrayBuffer>} pending
 * @param {SnapshotRecord} record
 */
async function checked(pending, record) {
  const snapshot = await pending;
  await checkSnapshot(snapshot, record);
  return snapshot;
}

/**
 * @param {Boot} steps
 * @returns {Promise<PyodideAPI>}
 */
async function startPlainly(steps) {
  const { config, downloads, manifest } = steps;
  const wheels = Object.values(manifest.lock.packages).map(({ file_name: name }) => name);
  const others = [STDLIB, ...wheels];
  downloads.expect([...SCRIPTS, ...others, ...(config.module ? [] : [WASM])]);
  const [contents, { loadPyodide }, wasm] = await Promise.all([
    Promise.all(others.map((name) => downloads.bytes(name))),
    steps.pyodide,
    steps.wasm,
    steps.emscripten,
  ]);
  steps.ended("compile");
  const files = new Map(others.map((name, index) => [downloads.url(name), contents[index]]));
  const python = await lending({ wasm: [downloads.url(WASM), wasm], files }, () =>
    loadPyodide({ ...options(steps), packages: [PACKAGE] }),
  );
  steps.ended("interpreter");
  return python;
}

/** @param {Boot} steps */
function options({ config, manifest }) {
  return {
    indexURL: config.runtimeURL,
    lockFileContents: manifest.lock,
    packageBaseUrl: config.runtimeURL,
  };
}
