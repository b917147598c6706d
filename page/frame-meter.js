/**
 * Measures the gaps between the frames that this thread manages to draw.
 *
 * A gap is the time between two callbacks of `requestAnimationFrame`, in milliseconds, by the
 * clock and not by the frame's own time stamp: a frame that was due when the thread got stuck is
 * drawn late and still bears the time at which it was due. The length of a normal frame is not assumed to be 16.7 ms: it is the median of the recent gaps, so that
 * a display of 120 Hz or a browser that saves power is judged by its own pace.
 *
 * @typedef {{gap: number, at: number, dropped: number}} Frame `gap` and `at` in ms, `dropped` in frames
 * @typedef {(frame: Frame) => void} FrameListener
 */

/** A gap counts as dropped frames from this many normal frames on; below it is jitter. */
const DROPPED_FROM = 1.75;
const WINDOW = 61;
const SIXTY_HERTZ_MS = 1000 / 60;

/**
 * How many frames should have been drawn inside a gap and were not.
 *
 * @param {number} gap ms
 * @param {number} normal ms, the length of a normal frame
 * @returns {number} 0 or more
 */
export function droppedFrames(gap, normal) {
  return gap < normal * DROPPED_FROM ? 0 : Math.round(gap / normal) - 1;
}

/**
 * @param {readonly number[]} values at least one
 * @returns {number} the middle value (the upper one of two)
 */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return /** @type {number} */ (sorted[sorted.length >> 1]);
}

export class FrameMeter {
  /** @type {Set<FrameListener>} */
  #listeners = new Set();
  /** @type {number[]} */
  #recent = [];
  #last = 0;
  #request = 0;

  constructor() {
    // A hidden tab draws nothing: what passes there is no gap of the page's making.
    document.addEventListener("visibilitychange", () => {
      this.#last = 0;
    });
  }

  /** The length of a normal frame here, in ms. */
  get normal() {
    return this.#recent.length < 5 ? SIXTY_HERTZ_MS : median(this.#recent);
  }

  /**
   * Calls `listener` for each frame until the returned function is called. The meter runs only
   * while somebody listens.
   *
   * @param {FrameListener} listener
   * @returns {() => void} stop listening
   */
  listen(listener) {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) {
      this.#last = 0;
      this.#request = requestAnimationFrame(this.#frame);
    }
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) cancelAnimationFrame(this.#request);
    };
  }

  #frame = () => {
    this.#request = requestAnimationFrame(this.#frame);
    const at = performance.now();
    const previous = this.#last;
    this.#last = at;
    if (previous === 0) return;
    const gap = at - previous;
    const dropped = droppedFrames(gap, this.normal);
    this.#recent.push(gap);
    if (this.#recent.length > WINDOW) this.#recent.shift();
    for (const listener of this.#listeners) listener({ gap, at, dropped });
  };
}
