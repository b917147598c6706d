import { largeBuffers } from "./protocol.js";

/**
 * Takes a payload that has to wait out of the caller's hands: what cannot be cloned shows now, what
 * the caller changes later does not matter, and its buffers are ours, so that nothing is copied a
 * second time when it is sent.
 *
 * @param {unknown} payload
 * @param {Transferable[]} transfer parts of it to hand over instead of copying
 * @returns {{payload: unknown, transfer: Transferable[]}} the same to send, with what to hand over
 * @throws {unknown} the browser's DataCloneError, or what a getter in the payload throws
 */
export function held(payload, transfer) {
  if (isValue(payload) && transfer.length === 0) return { payload, transfer };
  // Together, so that what was handed over is found again.
  const clone = structuredClone({ payload, transfer }, { transfer });
  if (clone === null) throw unsendable();
  const buffers = [...clone.transfer, ...largeBuffers(clone.payload)];
  return { payload: clone.payload, transfer: [...new Set(buffers)] };
}

/**
 * @param {unknown} [thrown] what the browser threw instead of sending a payload, if anything
 * @returns {unknown} that, or a DataCloneError where a browser fails otherwise: by a stack that ends,
 *   or by nothing at all
 */
export function unsendable(thrown) {
  const stackEnded = thrown instanceof Error && /call stack|recursion/.test(thrown.message);
  if (thrown !== undefined && !stackEnded) return thrown;
  const message = "The payload could not be cloned: too many objects lie in each other";
  return new DOMException(message, "DataCloneError");
}

/**
 * @param {unknown} value
 * @returns {boolean} whether it is its own copy: most tasks have a small payload or none, and a
 *   structured clone takes longer than all the rest that is done for a task
 */
function isValue(value) {
  return value === null || VALUES.has(typeof value);
}

const VALUES = new Set(["undefined", "boolean", "number", "bigint", "string"]);
