import { currentLanguage } from "./text.js";

/** @type {Map<string, Intl.NumberFormat>} */
const formats = new Map();

/**
 * @param {Intl.NumberFormatOptions} options
 * @returns {Intl.NumberFormat} for the page's language
 */
function format(options) {
  const key = currentLanguage() + JSON.stringify(options);
  let known = formats.get(key);
  if (!known) {
    known = new Intl.NumberFormat(currentLanguage(), options);
    formats.set(key, known);
  }
  return known;
}

/** @param {number} value */
export const whole = (value) => format({ maximumFractionDigits: 0 }).format(value);

/** @param {number} share 0 to 1 */
export const percent = (share) =>
  format({ style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1 }).format(share);

/** @param {number} value how many times */
export const times = (value) =>
  format({ maximumSignificantDigits: value < 100 ? 2 : 3 }).format(value);

/**
 * @param {number} value
 * @param {number} digits at most so many after the point
 */
const decimal = (value, digits) => format({ maximumFractionDigits: digits }).format(value);

/** A number and its unit stay on one line. The symbols are the same in both languages. */
const NARROW_SPACE = "\u202f";

/**
 * A time span: 0.42 ms, 17 ms, 1,340 ms, 12.4 s.
 *
 * @param {number} ms
 */
export function span(ms) {
  if (ms < 10) return `${format({ maximumSignificantDigits: 2 }).format(ms)}${NARROW_SPACE}ms`;
  if (ms < 10_000) return `${whole(ms)}${NARROW_SPACE}ms`;
  return `${decimal(ms / 1000, 1)}${NARROW_SPACE}s`;
}

/**
 * A long time span as an operator says it: 4.2 s, 12 min, 3.5 h.
 *
 * @param {number} seconds
 */
export function age(seconds) {
  if (seconds < 120) return `${decimal(seconds, seconds < 10 ? 1 : 0)}${NARROW_SPACE}s`;
  if (seconds < 7200) return `${decimal(seconds / 60, 0)}${NARROW_SPACE}min`;
  return `${decimal(seconds / 3600, 1)}${NARROW_SPACE}h`;
}

/** @param {number} bytes */
export function size(bytes) {
  if (bytes < 1000) return `${whole(bytes)}${NARROW_SPACE}B`;
  if (bytes < 1e6) return `${decimal(bytes / 1e3, 0)}${NARROW_SPACE}kB`;
  return `${decimal(bytes / 1e6, 1)}${NARROW_SPACE}MB`;
}
