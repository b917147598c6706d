import { Pen } from "./pen.js";

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

/** Where the ticks and the hand begin and end, from the centre, of 110. */
const TICK = { from: 85, to: 99, width: 1.9 };
const HAND = { from: 64, to: 105, width: 2.6 };
const BEHIND = 3;
const LOOKS = /** @type {const} */ (["none", "--worker", "--main"]);
const [EMPTY, DRAWN, MISSED] = [0, 1, 2];

/**
 * Painted on a canvas, a dozen short lines a frame: a meter must not weigh on what it measures.
 */
export class Indicator {
  #ticks = new Uint8Array(TICKS);
  #pen;
  #value;
  #wordsAt = 0;
  #at = 0;

  /**
   * @param {HTMLCanvasElement} canvas square
   * @param {HTMLElement} value shows the last gap in ms
   */
  constructor(canvas, value) {
    this.#value = value;
    this.#pen = new Pen(canvas, 220, 220, () => this.#paint(0, TICKS));
  }

  /** @param {import("./frame-meter.js").Frame} frame */
  draw(frame) {
    const { drawn, missed } = passedTicks(frame.at - frame.gap, frame.at, frame.dropped);
    for (const index of drawn) this.#ticks[index] = DRAWN;
    for (const index of missed) this.#ticks[index] = MISSED;
    const head = Math.floor(frame.at / TICK_MS);
    for (let ahead = 1; ahead <= WIPE; ahead += 1) this.#ticks[(head + ahead) % TICKS] = EMPTY;
    const passed = drawn.length + missed.length + BEHIND;
    const stood = Math.floor(this.#at / TICK_MS);
    this.#at = frame.at;
    // The hand may have stood still somewhere else while nobody looked.
    this.#paint(stood - BEHIND, 2 * BEHIND);
    this.#paint(head - passed, Math.min(TICKS, passed + WIPE + 1));
    // A number that changes sixty times a second cannot be read; a long gap is shown at once.
    if (frame.dropped > 2 || frame.at - this.#wordsAt > 500) {
      this.#wordsAt = frame.at + (frame.dropped > 2 ? 1500 : 0);
      this.#value.textContent = Math.round(frame.gap).toString();
    }
  }

  /** Wipes the ring. */
  clear() {
    this.#ticks.fill(EMPTY);
    this.#paint(0, TICKS);
  }

  /**
   * Paints some ticks anew, and the hand where it stands now.
   *
   * @param {number} first tick, may be negative
   * @param {number} count
   */
  #paint(first, count) {
    for (let index = first; index < first + count; index += 1) {
      const tick = ((index % TICKS) + TICKS) % TICKS;
      const look = LOOKS[/** @type {0 | 1 | 2} */ (this.#ticks[tick])];
      this.#spoke(tick / TICKS, (pen) => {
        pen.clear(-2, -HAND.to - 2, 4, HAND.to - HAND.from + 4);
        if (look !== "none")
          pen.fill(look, -TICK.width / 2, -TICK.to, TICK.width, TICK.to - TICK.from);
      });
    }
    if (this.#at === 0) return;
    this.#spoke((this.#at % TURN_MS) / TURN_MS, (pen) =>
      pen.fill("--ink", -HAND.width / 2, -HAND.to, HAND.width, HAND.to - HAND.from),
    );
  }

  /**
   * @param {number} turn 0 to 1, from the top
   * @param {(pen: Pen) => void} paint with the spoke pointing up and the centre at 0, 0
   */
  #spoke(turn, paint) {
    this.#pen.turned(110, 110, turn * 2 * Math.PI, paint);
  }
}
