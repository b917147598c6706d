import { Pen } from "./pen.js";

/** How many frames the strip holds. At 60 Hz that is four seconds. */
const BARS = 240;
const HEIGHT = 48;
/** The bottom and the top of the scale, in ms; it is logarithmic, or a freeze would hide the rest. */
const LOWEST_MS = 4;
const HIGHEST_MS = 4000;

/**
 * @param {number} gap ms
 * @returns {number} height of its bar, 1 to 48
 */
export function barHeight(gap) {
  const share = Math.log(gap / LOWEST_MS) / Math.log(HIGHEST_MS / LOWEST_MS);
  return 1 + Math.min(1, Math.max(0, share)) * (HEIGHT - 1);
}

/** The recent frame gaps, a bar each, written round and round like an oscilloscope. */
export class GapStrip {
  #heights = new Float32Array(BARS);
  #dropped = new Uint8Array(BARS);
  #next = 0;
  #pen;

  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.#pen = new Pen(canvas, BARS, HEIGHT, () => this.#paintAll());
  }

  /** @param {import("./frame-meter.js").Frame} frame */
  draw(frame) {
    const bar = this.#next;
    this.#heights[bar] = barHeight(frame.gap);
    this.#dropped[bar] = frame.dropped > 0 ? 1 : 0;
    this.#next = (bar + 1) % BARS;
    this.#paint(bar);
    this.#paintCursor();
  }

  /** Wipes the strip. */
  clear() {
    this.#heights.fill(0);
    this.#next = 0;
    this.#paintAll();
  }

  #paintAll() {
    for (let bar = 0; bar < BARS; bar += 1) this.#paint(bar);
    this.#paintCursor();
  }

  #paintCursor() {
    this.#pen.clear(this.#next, 0, 1, HEIGHT);
    this.#pen.fill("--quiet", this.#next, 0, 1, HEIGHT);
  }

  /** @param {number} bar */
  #paint(bar) {
    const height = this.#heights[bar] ?? 0;
    this.#pen.clear(bar, 0, 1, HEIGHT);
    this.#pen.fill(this.#dropped[bar] ? "--main" : "--worker", bar, HEIGHT - height, 0.8, height);
  }
}
