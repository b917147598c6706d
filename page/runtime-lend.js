/**
 * Lets Pyodide use what has been fetched and compiled already.
 *
 * `loadPyodide` fetches and compiles by itself, and takes neither bytes nor a compiled module
 * instead of an address. While it runs, `fetch` and `WebAssembly.instantiateStreaming` answer for
 * the borrowed addresses from memory, and a small module that was compiled once is not compiled
 * again; every other call, from whomever, goes through unchanged.
 */

/**
 * Length in bytes up to which a module is remembered. Emscripten makes one of some 40 bytes for each
 * JavaScript function that gets an address: 260 modules, of which only 29 are different.
 */
const SMALL = 100;

/**
 * Runs `work` while the borrowed things are lent out.
 * @template T
 * @param {{wasm: [url: string, module: WebAssembly.Module], files: Map<string, BodyInit | null>}}
 *   borrowed the interpreter's module, and the contents of other files, by absolute address
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 * @throws {Error} what `work` throws, or when the module cannot be instantiated: Pyodide would only
 *   write that to the console and wait for ever
 */
export async function lending({ wasm: [wasmURL, module], files }, work) {
  const { fetch } = globalThis;
  const { instantiateStreaming, Module } = WebAssembly;
  /** Stands for the response that would hold the module. */
  const stand = Promise.resolve(new Response());

  globalThis.fetch = (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    if (url === wasmURL) {
      return stand;
    }
    const content = files.get(url);
    return content === undefined
      ? fetch.call(globalThis, input, init)
      : Promise.resolve(new Response(content));
  };
  /** @type {Promise<never>} */
  const failed = new Promise((_, reject) => {
    WebAssembly.instantiateStreaming = async (source, imports) => {
      if (source !== stand) {
        return instantiateStreaming.call(WebAssembly, source, imports);
      }
      const instantiating = WebAssembly.instantiate(module, imports);
      instantiating.catch(reject);
      return { module, instance: await instantiating };
    };
  });
  WebAssembly.Module = remembering(Module);
  try {
    return await Promise.race([work(), failed]);
  } finally {
    globalThis.fetch = fetch;
    WebAssembly.instantiateStreaming = instantiateStreaming;
    WebAssembly.Module = Module;
  }
}

/**
 * @param {typeof WebAssembly.Module} Module
 * @returns {typeof WebAssembly.Module} the same, but small modules of the same bytes are one
 */
function remembering(Module) {
  /** @type {Map<string, WebAssembly.Module>} */
  const known = new Map();
  return new Proxy(Module, {
    construct(_, [bytes]) {
      if (!(bytes instanceof Uint8Array && bytes.length <= SMALL)) {
        return new Module(bytes);
      }
      const key = String(bytes);
      const module = known.get(key) ?? new Module(/** @type {Uint8Array<ArrayBuffer>} */ (bytes));
      known.set(key, module);
      return module;
    },
  });
}
