import { svg } from "./svg.js";

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
  /** @type {SVGRectElement[]} */
  #bars = [];
  #next = 0;
  #cursor = svg("rect", { class: "strip-cursor", x: 0, y: 0, width: 1.4, height: HEIGHT });

  /** @param {SVGSVGElement} root of viewBox 0 0 240 48 */
  constructor(root) {
    for (let index = 0; index < BARS; index += 1) {
      this.#bars.push(svg("rect", { class: "bar", x: index, y: HEIGHT, width: 0.8, height: 0 }));
    }
    root.replaceChildren(...this.#bars, this.#cursor);
  }

  /** @param {import("./frame-meter.js").Frame} frame */
  draw(frame) {
    const bar = /** @type {SVGRectElement} */ (this.#bars[this.#next]);
    const height = barHeight(frame.gap);
    bar.setAttribute("y", (HEIGHT - height).toFixed(1));
    bar.setAttribute("height", height.toFixed(1));
    bar.setAttribute("class", frame.dropped > 0 ? "bar bar-dropped" : "bar");
    this.#next = (this.#next + 1) % BARS;
    this.#cursor.setAttribute("x", String(this.#next));
  }

  /** Wipes the strip. */
  clear() {
    for (const bar of this.#bars) bar.setAttribute("height", "0");
    this.#next = 0;
  }
}
