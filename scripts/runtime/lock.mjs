/**
 * The lock file of the browser's runtime: micropip resolves the handlers and what they need, at
 * build time and from local files only, so that nothing of it is needed at run time.
 */

import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { loadPyodide } from "pyodide";
import { sha256 } from "./files.mjs";

/** @import { Lockfile, LockfilePackage } from "pyodide" */

/**
 * Resolves the wheel `handlers` against the packages in `wheels` and returns the lock file of
 * exactly what it needs, itself included.
 * @param {{wheels: string, handlers: string}} sources folder of the compiled wheels; path of the
 *   handlers' wheel
 * @returns {Promise<Lockfile>}
 */
export async function resolveLock({ wheels, handlers }) {
  const quiet = { messageCallback() {} };
  const pyodide = await loadPyodide({ packageCacheDir: wheels });
  await pyodide.loadPackage("micropip", quiet);
  const name = basename(handlers);
  const bytes = await readFile(handlers);
  pyodide.FS.writeFile(`/tmp/${name}`, bytes);
  const frozen = await pyodide.runPythonAsync(
    `import micropip\nawait micropip.install("emfs:/tmp/${name}", verbose=False)\nmicropip.freeze()`,
  );
  const lock = /** @type {Lockfile} */ (JSON.parse(frozen));
  const own = Object.values(lock.packages).find((entry) => entry.file_name.endsWith(name));
  if (own === undefined) {
    throw new Error(`micropip did not freeze ${name}`);
  }
  own.sha256 = sha256(bytes);
  return { info: lock.info, packages: needed(lock.packages, own.name) };
}

/**
 * @param {Record<string, LockfilePackage>} packages
 * @param {string} root
 * @returns {Record<string, LockfilePackage>} the root and all it depends on, sorted by name
 */
function needed(packages, root) {
  /** @type {Set<string>} */
  const names = new Set();
  const waiting = [root];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const entry = packages[name];
    if (entry === undefined) {
      throw new Error(`${name} is needed by the handlers and not among Pyodide's packages`);
    }
    names.add(name);
    waiting.push(...entry.depends.filter((other) => !names.has(other)));
  }
  return Object.fromEntries(
    [...names]
      .sort()
      .map((name) => [name, { ...packages[name], file_name: basename(packages[name].file_name) }]),
  );
}
