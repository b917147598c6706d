/**
 * What a run did to the page, seen from the main thread.
 *
 * @typedef {{longestGap: number, dropped: number, frames: number, longestDelay: number | null}} RunMeasure
 * gaps and delays in ms; `longestDelay` is null when nobody pressed anything
 */

/**
 * Measures the page for as long as `work` takes.
 *
 * The measurement begins when a frame has been drawn, so that what came before is not counted
 * and the reader has seen that something begins; it ends with the first frame after the work, so
 * that a gap which the work causes lies inside it.
 *
 * @template Result
 * @param {import("./frame-meter.js").FrameMeter} meter
 * @param {import("./press-meter.js").PressMeter} presses
 * @param {() => Promise<Result>} work
 * @returns {Promise<{result: Result, measure: RunMeasure}>}
 * @throws whatever `work` throws
 */
export async function measureRun(meter, presses, work) {
  /** @type {RunMeasure} */
  const measure = { longestGap: 0, dropped: 0, frames: 0, longestDelay: null };
  /** @type {() => void} */
  let frameDrawn = () => {};
  const nextFrame = () =>
    new Promise((/** @type {(value?: undefined) => void} */ resolve) => {
      frameDrawn = resolve;
    });
  const stopFrames = meter.listen((frame) => {
    measure.longestGap = Math.max(measure.longestGap, frame.gap);
    measure.dropped += frame.dropped;
    measure.frames += 1;
    frameDrawn();
  });
  const stopPresses = presses.listen((delay) => {
    measure.longestDelay = Math.max(measure.longestDelay ?? 0, delay);
  });
  try {
    if (!document.hidden) {
      await nextFrame();
      await pastPainting();
    }
    Object.assign(measure, { longestGap: 0, dropped: 0, frames: 0 });
    const result = await work();
    if (!document.hidden) await nextFrame();
    return { result, measure };
  } finally {
    stopFrames();
    stopPresses();
  }
}

/** Resolves once the frame is painted whose callbacks are running: a task of its own comes later. */
const pastPainting = () => new Promise((resolve) => setTimeout(resolve));
