import { size, whole } from "./numbers.js";
import { TaskError } from "./protocol.js";
import { SayableError } from "./sayable-error.js";
import { canSay, say } from "./text.js";

/**
 * A failure as a sentence in the reader's language that says why and what to try.
 *
 * @param {unknown} error
 * @returns {string}
 */
export function sentenceFor(error) {
  if (error instanceof SayableError) return say(error.key);
  if (!(error instanceof Error || error instanceof DOMException)) return String(error);
  const { code = error.name, details = { ...error } } = error instanceof TaskError ? error : {};
  const key = `error.${code}`;
  if (!canSay(key)) return error.message;
  const reason = "cause" in error && error.cause instanceof Error ? error.cause.message : "";
  const write = code === "too-many-bytes" ? size : whole;
  return say(key, { reason, ...spoken(details, write) });
}

/**
 * @param {Record<string, unknown>} details
 * @param {(value: number) => string} write
 * @returns {Record<string, string>} numbers written as the reader's language writes them
 */
function spoken(details, write) {
  return Object.fromEntries(
    Object.entries(details).map(([name, value]) => [
      name,
      typeof value === "number" ? write(value) : String(value),
    ]),
  );
}
