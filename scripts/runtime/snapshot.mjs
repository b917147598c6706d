/**
 * The memory snapshot: an interpreter that has imported NumPy, Pillow and the handlers, written
 * down so that page/runtime-snapshot.js can bring it back.
 *
 * Pyodide can write down an interpreter's memory; what it leaves out is how the extension modules
 * are linked into it. The record made here says so: where each module's data and functions lie,
 * which of its functions have a place in the function table, and the addresses of its symbols.
 */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { loadPyodide } from "pyodide";
import { sumOfSymbols } from "../../page/runtime-snapshot.js";
import { sha256 } from "./files.mjs";
import { inStillness } from "./stillness.mjs";

/** @import { Lockfile } from "pyodide" */
/** @import { SnapshotRecord } from "../../page/runtime-snapshot.js" */

const ROOM = 64;
const PAGE = 4096;
const FILE = "snapshot.bin";
const STDLIB = "/lib/python314.zip";
const SITE = "/lib/python3.14/site-packages";

/**
 * Makes the snapshot of an interpreter with the packages of `lock`.
 * @param {{lock: Lockfile, folder: string}} sources `folder` holds the packages' wheels
 * @returns {Promise<{files: Map<string, Uint8Array>, record: SnapshotRecord}>} the files to write,
 *   by name: the snapshot and the extension modules that it is linked with
 */
export function makeSnapshot({ lock, folder }) {
  return inStillness(async () => {
    const pyodide = await loadPyodide({
      _makeSnapshot: true,
      _sysExecutable: "./this.program",
      env: { HOME: "/home/pyodide", LANG: "C.UTF-8", PYTHONHASHSEED: "0" },
      lockFileContents: { ...lock, packages: {} },
      packageBaseUrl: folder,
    });
    const module = /** @type {{_module: SnapshotModule} & typeof pyodide} */ (pyodide)._module;
    // Some entries depend on what the JavaScript engine can do, so there is room for more of them.
    const tableStart = Math.ceil((module.wasmTable.length + ROOM) / ROOM) * ROOM;
    module.wasmTable.grow(tableStart - module.wasmTable.length);
    const own = new Set(Object.keys(module.GOT));
    const ownSymbols = sumOfSymbols(module.GOT);
    for (const { file_name: name } of Object.values(lock.packages)) {
      const wheel = new Uint8Array(await readFile(join(folder, name)));
      pyodide.unpackArchive(wheel, "wheel", { extractDir: SITE });
    }
    pyodide.runPython(
      `import handlers.browser, handlers.snapshot
handlers.snapshot.prepare("${STDLIB}", "${SITE}")`,
    );
    const libraries = librariesOf(module);
    clearFreeMemory(module);
    const { head, memory } = splitSnapshot(pyodide.makeMemorySnapshot());
    const trampoline = trampolineOf(module);
    memory.fill(0, trampoline, trampoline + 4);
    const runs = runsOf(memory);
    const packed = Buffer.concat(
      runs.map(([start, length]) => memory.subarray(start, start + length)),
    );
    const files = new Map(libraries.map(({ file, name }) => [file, module.FS.readFile(name)]));
    files.set(FILE, packed);
    const record = {
      file: FILE,
      bytes: packed.length,
      sha256: sha256(packed),
      head: Array.from(head),
      memory: memory.length,
      runs,
      stdlib: STDLIB,
      tableStart,
      tableLength: module.wasmTable.length,
      trampoline,
      ownSymbols,
      libraries: libraries.map(({ exports: _, ...library }) => library),
      slots: slotsOf(module, tableStart, libraries),
      symbols: Object.fromEntries(
        Object.entries(module.GOT)
          .filter(([name]) => !own.has(name))
          .map(([name, { value }]) => [name, value]),
      ),
    };
    return { files, record };
  });
}

/**
 * @typedef {import("../../page/runtime-snapshot.js").LinkedModule} LinkedModule
 * @typedef {LinkedModule & {
 *   FS: {readFile: (path: string) => Uint8Array},
 *   _malloc: (size: number) => number,
 *   _free: (block: number) => void,
 * }} SnapshotModule
 * @typedef {import("../../page/runtime-snapshot.js").Library
 *   & {exports: Record<string, unknown>}} LoadedLibrary
 */

/**
 * @param {Uint8Array} snapshot what Pyodide makes: a header that says where the memory begins, its
 *   list of JavaScript objects that Python refers to, and the memory
 * @returns {{head: Uint8Array, memory: Uint8Array}}
 */
function splitSnapshot(snapshot) {
  const start = new DataView(snapshot.buffer, snapshot.byteOffset).getUint32(4, true);
  return { head: snapshot.subarray(0, start), memory: snapshot.subarray(start) };
}

/**
 * @param {Uint8Array} memory
 * @returns {[start: number, length: number][]} the parts of the memory that are not all zeros
 */
function runsOf(memory) {
  /** @type {[number, number][]} */
  const runs = [];
  for (let start = 0; start < memory.length; start += PAGE) {
    const last = runs.at(-1);
    if (memory.subarray(start, start + PAGE).some((byte) => byte !== 0)) {
      if (last && last[0] + last[1] === start) {
        last[1] += PAGE;
      } else {
        runs.push([start, PAGE]);
      }
    }
  }
  return runs;
}

/**
 * Fills all memory that nobody uses with zeros, because what was there before would only make the
 * snapshot's download larger.
 * @param {SnapshotModule} module
 */
function clearFreeMemory(module) {
  const { HEAPU32, HEAP8 } = module;
  const top = HEAPU32[module._emscripten_get_sbrk_ptr() >>> 2];
  const blocks = [];
  for (let size = 1 << 20; size >= 16; size >>>= 1) {
    let block = module._malloc(size);
    while (block + size < top) {
      HEAP8.fill(0, block, block + size);
      blocks.push(block);
      block = module._malloc(size);
    }
    module._free(block);
  }
  blocks.forEach(module._free);
}

/**
 * @param {LinkedModule} module
 * @returns {number} where CPython keeps the table index of the function through which it makes
 *   calls whose signature is uncertain; each engine gets another such function, or none (0)
 */
function trampolineOf({ GOT, HEAPU32 }) {
  const offset = HEAPU32[GOT._PyEM_EMSCRIPTEN_TRAMPOLINE_OFFSET.value >>> 2];
  return GOT._PyRuntime.value + offset;
}

/**
 * @param {LinkedModule} module
 * @returns {LoadedLibrary[]} the extension modules, in the order in which they were loaded
 */
function librariesOf(module) {
  const { HEAPU32 } = module;
  return Object.entries(module.LDSO.loadedLibsByHandle)
    .map(([key, { name, exports }]) => {
      const handle = Number(key);
      // Emscripten's struct dso: 12 memory address, 20 table address, 24 table size.
      return {
        file: `${name.slice(SITE.length + 1, name.indexOf(".", SITE.length)).replaceAll("/", ".")}.wasm`,
        name,
        handle,
        memoryBase: HEAPU32[(handle + 12) >>> 2],
        tableBase: HEAPU32[(handle + 20) >>> 2],
        tableSize: HEAPU32[(handle + 24) >>> 2],
        exports,
      };
    })
    .filter(({ handle }) => handle !== 0)
    .sort((one, other) => one.tableBase - other.tableBase);
}

/**
 * @param {LinkedModule} module
 * @param {number} start first index that does not belong to Pyodide itself
 * @param {LoadedLibrary[]} libraries
 * @returns {[index: number, library: number, name: string][]} table entries that were added for
 *   single functions: which function of which library stands there
 * @throws {Error} when an entry belongs to no library, because it could not be brought back
 */
function slotsOf(module, start, libraries) {
  /** @type {Map<unknown, [number, string]>} */
  const owners = new Map();
  for (const [index, { exports }] of libraries.entries()) {
    for (const [name, value] of Object.entries(exports)) {
      if (typeof value === "function" && !owners.has(value)) {
        owners.set(value, [index, name]);
      }
    }
  }
  /** @type {[number, number, string][]} */
  const slots = [];
  for (let index = start; index < module.wasmTable.length; index++) {
    const inside = libraries.some(
      ({ tableBase, tableSize }) => index >= tableBase && index < tableBase + tableSize,
    );
    if (!inside) {
      const owner = owners.get(module.wasmTable.get(index));
      if (owner === undefined) {
        throw new Error(`function table entry ${index} belongs to no extension module`);
      }
      slots.push([index, ...owner]);
    }
  }
  return slots;
}
