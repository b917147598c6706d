import { svg } from "./svg.js";

/**
 * The ring: a hand that script moves frame by frame, and a tick for every moment in which a
 * frame was drawn. A moment in which none was drawn stays marked until the hand returns, so a
 * freeze can be seen after it is over, which is the only time it can be seen at all.
 */

/** One turn of the hand, in ms, and the number of ticks on it (one for each 33 ms). */
export const TURN_MS = 8000;
export const TICKS = 240;
const TICK_MS = TURN_MS / TICKS;
/** How many ticks ahead of the hand are wiped, so that the newest and the oldest never touch. */
const WIPE = 10;

/**
 * Which ticks the hand passed between two frames, and which of them were missed: all but the
 * last when the gap contained dropped frames.
 *
 * @param {number} from ms, time of the previous frame
 * @param {number} to ms, time of this frame
 * @param {number} dropped frames that were not drawn in between
 * @returns {{drawn: number[], missed: number[]}} tick indices, 0 to TICKS - 1
 */
export function passedTicks(from, to, dropped) {
  const last = Math.floor(to / TICK_MS);
  const first = Math.max(Math.floor(from / TICK_MS) + 1, last - TICKS + 1);
  const passed = [];
  for (let tick = first; tick <= last; tick += 1) passed.push(tick % TICKS);
  if (dropped === 0) return { drawn: passed, missed: [] };
  return { drawn: [last % TICKS], missed: passed.slice(0, -1) };
}

export class Indicator {
  /** @type {SVGLineElement[]} */
  #ticks = [];
  #hand;
  #value;
  #wordsAt = 0;

  /**
   * @param {SVGGElement} ring where the ticks go
   * @param {SVGLineElement} hand
   * @param {SVGTextElement} value shows the last gap in ms
   */
  constructor(ring, hand, value) {
    this.#hand = hand;
    this.#value = value;
    for (let index = 0; index < TICKS; index += 1) {
      const tick = svg("line", {
        class: "tick",
        x1: 0,
        x2: 0,
        y1: -85,
        y2: -99,
        transform: `rotate(${(360 * index) / TICKS})`,
      });
      this.#ticks.push(tick);
    }
    ring.replaceChildren(...this.#ticks);
  }

  /** @param {import("./frame-meter.js").Frame} frame */
  draw(frame) {
    const { drawn, missed } = passedTicks(frame.at - frame.gap, frame.at, frame.dropped);
    for (const index of drawn) this.#mark(index, "tick tick-drawn");
    for (const index of missed) this.#mark(index, "tick tick-missed");
    const head = Math.floor(frame.at / TICK_MS);
    for (let ahead = 1; ahead <= WIPE; ahead += 1) this.#mark((head + ahead) % TICKS, "tick");
    const angle = ((frame.at % TURN_MS) / TURN_MS) * 360;
    this.#hand.setAttribute("transform", `rotate(${angle.toFixed(2)})`);
    // A number that changes sixty times a second cannot be read; a long gap is shown at once.
    if (frame.dropped > 2 || frame.at - this.#wordsAt > 500) {
      this.#wordsAt = frame.at + (frame.dropped > 2 ? 1500 : 0);
      this.#value.textContent = Math.round(frame.gap).toString();
    }
  }

  /** Wipes the ring. */
  clear() {
    for (let index = 0; index < TICKS; index += 1) this.#mark(index, "tick");
  }

  /**
   * @param {number} index
   * @param {string} look
   */
  #mark(index, look) {
    const tick = /** @type {SVGLineElement} */ (this.#ticks[index]);
    if (tick.getAttribute("class") !== look) tick.setAttribute("class", look);
  }
}
