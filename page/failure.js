import { size, whole } from "./numbers.js";
import { TaskError } from "./protocol.js";
import { canSay, say } from "./text.js";

/**
 * A failure as a sentence in the reader's language that says why and what to try.
 *
 * @param {unknown} error
 * @returns {string}
 */
export function sentenceFor(error) {
  if (!(error instanceof TaskError)) return error instanceof Error ? error.message : String(error);
  const key = `error.${error.code ?? error.name}`;
  return canSay(key) ? say(key, spoken(error.details ?? {})) : error.message;
}

/**
 * @param {Record<string, unknown>} details
 * @returns {Record<string, string>} numbers written as the reader's language writes them
 */
function spoken(details) {
  return Object.fromEntries(
    Object.entries(details).map(([name, value]) => {
      if (typeof value !== "number") return [name, String(value)];
      return [name, name.endsWith("bytes") ? size(value) : whole(value)];
    }),
  );
}
