/**
 * Brings back an interpreter from the memory snapshot that scripts/runtime/snapshot.mjs made.
 *
 * This is the only module that relies on what Pyodide and Emscripten keep private. Each thing it
 * relies on is checked before it is used; whatever does not fit ends in an error, and the caller
 * boots plainly instead.
 *
 * The extension modules (NumPy's and Pillow's) are linked as they were linked when the snapshot was
 * made: each at the same place in memory and in the function table, with the same address for each
 * symbol. What their initialisers would compute is in the memory already, so none of them runs
 * again. Then the memory is filled in, and Pyodide, which is told to restore a snapshot without any
 * memory, brings back only what Python refers to on JavaScript's side.
 */

/**
 * An extension module and where it was linked.
 * @typedef {object} Library
 * @property {string} file its file in the runtime folder
 * @property {string} name its path in Python's file system
 * @property {number} handle address of Emscripten's record of it
 * @property {number} memoryBase address of its data
 * @property {number} tableBase index of its first function in the function table
 * @property {number} tableSize number of its functions there
 */

/**
 * All that must be known to bring a snapshot back.
 * @typedef {object} SnapshotRecord
 * @property {string} file the snapshot's file in the runtime folder
 * @property {number} bytes its length
 * @property {string} sha256 its sum, hexadecimal
 * @property {number[]} head Pyodide's own part of the snapshot, byte by byte
 * @property {number} memory length of the interpreter's memory
 * @property {[start: number, length: number][]} runs the parts of the memory that follow each other
 *   in the file; everything between them is zero
 * @property {string} stdlib path of the zipped standard library in Python's file system
 * @property {number} tableStart where the first library begins in the function table; Pyodide's
 *   own entries, a few more or fewer in each engine, end before
 * @property {number} tableLength length of the function table
 * @property {number} trampoline address of an index that each engine sets for itself
 * @property {number} ownSymbols sum over the addresses of Pyodide's own symbols
 * @property {Library[]} libraries in the order in which they were loaded
 * @property {[index: number, library: number, name: string][]} slots functions of libraries that
 *   have a table entry outside their library's range
 * @property {Record<string, number>} symbols address of each symbol of a library
 */

/**
 * What a snapshot is brought back from, besides an interpreter.
 * @typedef {object} SnapshotParts
 * @property {WebAssembly.Module[]} libraries the extension modules, in the record's order
 * @property {ArrayBufferLike} snapshot
 */

/**
 * The part of Emscripten's module that linking needs.
 * @typedef {object} LinkedModule
 * @property {Int8Array} HEAP8
 * @property {Uint32Array} HEAPU32
 * @property {WebAssembly.Table} wasmTable
 * @property {Record<string, WebAssembly.Global>} GOT
 * @property {{loadedLibsByHandle: Record<number, {name: string, exports: Record<string, any>}>}} LDSO
 * @property {(bytes: number) => 1 | undefined} growMemory
 * @property {() => number} _emscripten_get_sbrk_ptr where the end of the used heap is written
 * @property {() => number} _emscripten_stack_get_end lowest address of the stack
 * @property {() => number} _emscripten_stack_get_current where the used part of the stack begins
 * @property {(index: number, entry: unknown) => void} setWasmTableEntry
 * @property {(exports: WebAssembly.Exports, base: number) => Record<string, any>} relocateExports
 * @property {(name: string, handle: number, exports: object) => {global: boolean}} newDSO
 */

/**
 * @param {ArrayBufferLike} snapshot
 * @param {SnapshotRecord} record
 * @throws {Error} when the snapshot does not have the length that the record speaks of
 */
export function checkLength(snapshot, record) {
  if (snapshot.byteLength !== record.bytes) {
    throw new Error(`the snapshot has ${snapshot.byteLength} bytes instead of ${record.bytes}`);
  }
}

/**
 * Checks that the bytes are the snapshot that the record speaks of.
 * @param {ArrayBuffer} snapshot
 * @param {SnapshotRecord} record
 * @throws {Error} when they are not
 */
export async function checkSnapshot(snapshot, record) {
  checkLength(snapshot, record);
  const sum = new Uint8Array(await crypto.subtle.digest("SHA-256", snapshot));
  if (Array.from(sum, (byte) => byte.toString(16).padStart(2, "0")).join("") !== record.sha256) {
    throw new Error("the snapshot's sum is wrong");
  }
}

/**
 * Checks, before there is a module, that Pyodide is about to restore a snapshot: it then leaves out
 * the interpreter's own start.
 * @param {{noInitialRun?: boolean}} settings what Pyodide hands to Emscripten
 * @throws {Error} when it is not
 */
export function checkSettings({ noInitialRun }) {
  if (!noInitialRun) {
    throw new Error("this Pyodide does not restore snapshots");
  }
}

/**
 * Links the libraries into a fresh module and fills in its memory.
 * @param {LinkedModule} module
 * @param {SnapshotRecord} record
 * @param {SnapshotParts} parts
 * @throws {Error} when the module is not in the state in which the snapshot's module was
 */
export async function linkLibraries(module, record, { snapshot, libraries }) {
  checkModule(module, record);
  if (record.memory > module.HEAP8.length && !module.growMemory(record.memory)) {
    throw new Error(`there is no room for ${record.memory} bytes of memory`);
  }
  module.wasmTable.grow(record.tableLength - module.wasmTable.length);
  const { GOT } = module;
  for (const [name, value] of Object.entries(record.symbols)) {
    GOT[name] = new WebAssembly.Global({ value: "i32", mutable: true }, value);
  }
  const linked = await Promise.all(
    record.libraries.map((library, index) => link(module, library, libraries[index])),
  );
  for (const [index, library, name] of record.slots) {
    module.setWasmTableEntry(index, linked[library][name]);
  }
  fillMemory(module, snapshot, record);
}

/**
 * @param {LinkedModule} module
 * @param {ArrayBufferLike} snapshot
 * @param {SnapshotRecord} record
 */
function fillMemory(module, snapshot, { runs, trampoline }) {
  const { HEAP8, HEAPU32 } = module;
  const own = HEAPU32[trampoline >>> 2];
  const clear = clearing(module);
  let from = 0;
  let end = 0;
  for (const [start, length] of runs) {
    clear(end, start);
    HEAP8.set(new Int8Array(snapshot, from, length), start);
    from += length;
    end = start + length;
  }
  clear(end, HEAP8.length);
  HEAPU32[trampoline >>> 2] = own;
}

/**
 * Memory that was never touched is zero, and stays cheap as long as nobody does. What a fresh
 * module has touched lies below the stack, on the stack and at the beginning of the heap.
 * @param {LinkedModule} module
 * @returns {(start: number, end: number) => void} makes a part of the memory zero
 */
function clearing(module) {
  const { HEAP8, HEAPU32 } = module;
  const heapEnd = HEAPU32[module._emscripten_get_sbrk_ptr() >>> 2];
  const touched = [
    [0, module._emscripten_stack_get_end()],
    [module._emscripten_stack_get_current(), heapEnd],
  ];
  return (start, end) => {
    for (const [first, last] of touched) {
      if (start < last && first < end) {
        HEAP8.fill(0, Math.max(start, first), Math.min(end, last));
      }
    }
  };
}

/**
 * The value that `SnapshotRecord.ownSymbols` must have.
 * @param {Record<string, WebAssembly.Global>} table
 * @returns {number}
 */
export function sumOfSymbols(table) {
  let sum = 0;
  for (const name in table) {
    sum = (Math.imul(sum, 31) + table[name].value) | 0;
  }
  return sum;
}

const NEEDED = /** @type {const} */ ([
  "GOT",
  "HEAP8",
  "LDSO",
  "_emscripten_get_sbrk_ptr",
  "_emscripten_stack_get_current",
  "_emscripten_stack_get_end",
  "growMemory",
  "newDSO",
  "relocateExports",
  "setWasmTableEntry",
]);

/**
 * @param {LinkedModule} module
 * @param {SnapshotRecord} record
 */
function checkModule(module, record) {
  for (const name of NEEDED) {
    if (!module[name]) {
      throw new Error(`this Pyodide has no ${name}`);
    }
  }
  if (!(module.wasmTable?.length <= record.tableStart)) {
    throw new Error("this Pyodide's function table has no room where the snapshot's had");
  }
  if (sumOfSymbols(module.GOT) !== record.ownSymbols) {
    throw new Error("this Pyodide's symbols have other addresses than the snapshot's");
  }
}

/**
 * @param {LinkedModule} module
 * @param {Library} library
 * @param {WebAssembly.Module} code
 * @returns {Promise<Record<string, any>>} the library's exports, at their addresses
 */
async function link(module, { name, handle, memoryBase, tableBase }, code) {
  const main = module.LDSO.loadedLibsByHandle[0].exports;
  /** @type {Record<string, any>} */
  let own = {};
  /** @type {Record<string, unknown>} */
  const env = {};
  /** @type {Record<string, WebAssembly.Global>} */
  const addresses = {};
  for (const { module: space, name: symbol } of WebAssembly.Module.imports(code)) {
    if (space.startsWith("GOT.")) {
      addresses[symbol] = module.GOT[symbol];
    } else if (main[symbol] && !main[symbol].stub) {
      env[symbol] = main[symbol];
    } else {
      // A library may import a function that it exports itself.
      env[symbol] = (/** @type {unknown[]} */ ...values) => own[symbol](...values);
    }
  }
  env.__memory_base = memoryBase;
  env.__table_base = tableBase;
  const instance = await WebAssembly.instantiate(code, {
    env: /** @type {WebAssembly.ModuleImports} */ (env),
    wasi_snapshot_preview1: /** @type {WebAssembly.ModuleImports} */ (env),
    "GOT.mem": addresses,
    "GOT.func": addresses,
  });
  own = module.relocateExports(instance.exports, memoryBase);
  module.newDSO(name, handle, own).global = false;
  return own;
}
