/**
 * Small rules about files that every build step shares.
 */

import { createHash } from "node:crypto";

/**
 * @param {Uint8Array | string} bytes
 * @returns {string} hexadecimal
 */
export function sha256(bytes) {
  return createHash("sha256").update(bytes).digest("hex");
}
