/**
 * Writes the runtime folder that the browser boots Python from.
 *
 *     node scripts/runtime/build.mjs --wheels DIR --handlers WHEEL --out DIR
 *
 * The same inputs give the same bytes.
 */

import { copyFile, mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { version } from "pyodide";
import { sha256 } from "./files.mjs";
import { resolveLock } from "./lock.mjs";
import { makeSnapshot } from "./snapshot.mjs";

const USAGE = `Write the folder that a browser boots Python from.

usage: node scripts/runtime/build.mjs --wheels DIR --handlers WHEEL --out DIR

  --wheels DIR      holds the wheels of NumPy, Pillow, micropip and packaging that the
                    pyodide-lock.json of the installed pyodide names
  --handlers WHEEL  the wheel of py/handlers
  --out DIR         is emptied first

example: node scripts/runtime/build.mjs --wheels .cache/wheels/314.0.4 \\
           --handlers dist/workers_handlers-0.1.0-py3-none-any.whl --out dist/runtime
`;

/** @param {unknown} error whose message may hold a whole traceback */
function lastLine(error) {
  return String(error).trimEnd().split("\n").at(-1);
}

/** @returns {{wheels?: string, handlers?: string, out?: string, help?: boolean}} */
function readArguments() {
  try {
    return parseArgs({
      options: {
        wheels: { type: "string" },
        handlers: { type: "string" },
        out: { type: "string" },
        help: { type: "boolean" },
      },
    }).values;
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${USAGE}`);
    process.exit(2);
  }
}

const { wheels, handlers, out, help } = readArguments();
if (help) {
  console.log(USAGE);
  process.exit(0);
}
if (!wheels || !handlers || !out) {
  console.error(USAGE);
  process.exit(2);
}

const pyodideFolder = dirname(fileURLToPath(import.meta.resolve("pyodide/package.json")));

await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });

const lock = await resolveLock({ wheels, handlers }).catch((error) => {
  console.error(
    `The packages could not be resolved from ${wheels}: ${lastLine(error)}\n\n${USAGE}`,
  );
  process.exit(1);
});
/** @type {Map<string, string>} file name → where it comes from */
const sources = new Map();
for (const name of ["pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip"]) {
  sources.set(name, join(pyodideFolder, name));
}
for (const { file_name: name, sha256: expected } of Object.values(lock.packages)) {
  const source = name === basename(handlers) ? handlers : join(wheels, name);
  const sum = sha256(await readFile(source));
  if (sum !== expected) {
    throw new Error(`${source} has SHA-256 ${sum}, expected ${expected}`);
  }
  sources.set(name, source);
}
for (const [name, source] of sources) {
  await copyFile(source, join(out, name));
}

const { files: made, record: snapshot } = await makeSnapshot({ lock, folder: out });
for (const [name, bytes] of made) {
  await writeFile(join(out, name), bytes);
}

/** @type {Record<string, number>} */
const files = {};
for (const name of [...sources.keys(), ...made.keys()].sort()) {
  files[name] = (await stat(join(out, name))).size;
}
const manifest = { pyodide: version, files, lock, snapshot };
await writeFile(join(out, "runtime.json"), `${JSON.stringify(manifest)}\n`);
process.exit(0); // Pyodide keeps the event loop alive
