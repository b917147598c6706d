/**
 * Lets Pyodide use what has been fetched and compiled already.
 *
 * `loadPyodide` fetches by itself, and takes neither bytes nor a compiled module instead of an
 * address. While it runs, `fetch` and `WebAssembly.instantiateStreaming` answer for the borrowed
 * addresses from memory; every other call, from whomever, goes through unchanged.
 */

/**
 * Runs `work` while the borrowed things are lent out.
 * @template T
 * @param {{wasm: [url: string, module: WebAssembly.Module], files: Map<string, BodyInit | null>}}
 *   borrowed the interpreter's module, and the contents of other files, by absolute address
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function lending({ wasm: [wasmURL, module], files }, work) {
  const { fetch } = globalThis;
  const { instantiateStreaming } = WebAssembly;
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
  WebAssembly.instantiateStreaming = async (source, imports) =>
    source === stand
      ? { module, instance: await WebAssembly.instantiate(module, imports) }
      : instantiateStreaming.call(WebAssembly, source, imports);
  try {
    return await work();
  } finally {
    globalThis.fetch = fetch;
    WebAssembly.instantiateStreaming = instantiateStreaming;
  }
}
