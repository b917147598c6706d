/**
 * The result of the task `histogram`, and what it takes to compare two of them.
 *
 * @typedef {object} HistogramResult
 * @property {{format: string, mode: string, width: number, height: number, orientation: number, frames: number, bytes: number, decoder: string, notes: string[]}} image
 * @property {{width: number, height: number, pixels: number}} counted
 * @property {{r: ArrayLike<number>, g: ArrayLike<number>, b: ArrayLike<number>}} bins 256 counts each
 * @property {ArrayLike<number>} cube 4096 counts
 * @property {{hex: string, rgb: number[], count: number, share: number}[]} palette
 * @property {string} method
 * @property {string} digest SHA-256 of the canonical JSON of the numbers, in hex
 * @property {{name: string, ms: number}[]} stages
 * @property {{python: string, numpy: string, pillow: string, platform: string}} runtime
 */

/**
 * Whether two results hold the same numbers: every bin, every cell of the cube, every colour.
 * The digests are compared too, but not instead.
 *
 * @param {HistogramResult} one
 * @param {HistogramResult} other
 * @returns {boolean}
 */
export function sameNumbers(one, other) {
  return one.digest === other.digest && numbersOf(one) === numbersOf(other);
}

/**
 * How many numbers a result holds.
 *
 * @param {HistogramResult} result
 */
export function countNumbers(result) {
  return 3 * 256 + result.cube.length + result.palette.length * 5;
}

/**
 * How long the stages took together, in ms.
 *
 * @param {HistogramResult} result
 */
export const totalMs = (result) => result.stages.reduce((sum, stage) => sum + stage.ms, 0);

/** @param {HistogramResult} result */
function numbersOf({ counted, bins, cube, palette }) {
  return JSON.stringify([
    counted.width,
    counted.height,
    ...[bins.r, bins.g, bins.b, cube].map((list) => Array.from(list)),
    palette.map(({ rgb, count, share }) => [...rgb, count, share]),
  ]);
}
