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
 * A time span in words that fit its size: 0.42 ms, 17 ms, 1,340 ms, 12.4 s.
 *
 * @param {number} ms
 */
export function span(ms) {
  if (ms < 10)
    return format({ style: "unit", unit: "millisecond", maximumSignificantDigits: 2 }).format(ms);
  if (ms < 10_000)
    return format({ style: "unit", unit: "millisecond", maximumFractionDigits: 0 }).format(ms);
  return format({ style: "unit", unit: "second", maximumFractionDigits: 1 }).format(ms / 1000);
}

/**
 * A long time span as an operator says it: 4 s, 12 min, 3 h.
 *
 * @param {number} seconds
 */
export function age(seconds) {
  if (seconds < 90)
    return format({
      style: "unit",
      unit: "second",
      maximumFractionDigits: seconds < 10 ? 1 : 0,
    }).format(seconds);
  if (seconds < 5400)
    return format({ style: "unit", unit: "minute", maximumFractionDigits: 0 }).format(seconds / 60);
  return format({ style: "unit", unit: "hour", maximumFractionDigits: 1 }).format(seconds / 3600);
}

/** @param {number} bytes */
export function size(bytes) {
  if (bytes < 1e6)
    return format({ style: "unit", unit: "kilobyte", maximumFractionDigits: 0 }).format(
      bytes / 1e3,
    );
  return format({ style: "unit", unit: "megabyte", maximumFractionDigits: 1 }).format(bytes / 1e6);
}
