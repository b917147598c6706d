import { byId } from "./element.js";
import { GapStrip } from "./gap-strip.js";
import { Indicator } from "./indicator.js";
import { span, whole } from "./numbers.js";
import { say, whenSpoken } from "./text.js";

/**
 * The figure of the first view: ring, strip, readings and their buttons. It stands still while
 * it is off screen, while the tab is hidden, and while the reader has paused it.
 *
 * @param {import("./frame-meter.js").FrameMeter} meter
 * @param {import("./press-meter.js").PressMeter} presses
 * @returns {(measure: import("./run-measure.js").RunMeasure) => void} takes the measure of a run
 * into the readings, for one that the figure did not see because it was off screen
 */
export function connectStage(meter, presses) {
  const ring = byId("ring-canvas", HTMLCanvasElement);
  const indicator = new Indicator(ring, byId("ring-value", HTMLElement));
  let paused = false;
  const readings = { longest: 0, dropped: 0 };

  const follow = (
    /** @type {HTMLCanvasElement} */ figure,
    /** @type {(frame: import("./frame-meter.js").Frame) => void} */ draw,
  ) => {
    /** @type {(() => void) | undefined} */
    let stop;
    const update = (/** @type {boolean} */ visible) => {
      if (visible && !paused) stop ??= meter.listen(draw);
      else {
        stop?.();
        stop = undefined;
      }
    };
    let visible = false;
    new IntersectionObserver((entries) => {
      visible = entries.at(-1)?.isIntersecting ?? false;
      update(visible);
    }).observe(figure);
    return { refresh: () => update(visible), sees: () => visible && !paused };
  };

  const strip = new GapStrip(byId("gap-strip", HTMLCanvasElement));
  const smallStrips = ["gap-strip-small", "gap-strip-pool"].map((id) => {
    const canvas = byId(id, HTMLCanvasElement);
    return { canvas, strip: new GapStrip(canvas) };
  });
  const figures = [
    follow(ring, (frame) => {
      indicator.draw(frame);
      strip.draw(frame);
      readings.dropped += frame.dropped;
      if (frame.gap > readings.longest || frame.dropped > 0) {
        readings.longest = Math.max(readings.longest, frame.gap);
        showReadings();
      }
    }),
    ...smallStrips.map(({ canvas, strip: small }) => follow(canvas, (frame) => small.draw(frame))),
  ];

  /** @type {number | undefined} */
  let lastDelay;
  const showReadings = () => {
    byId("reading-longest", HTMLElement).textContent = readings.longest
      ? span(readings.longest)
      : "–";
    byId("reading-dropped", HTMLElement).textContent = whole(readings.dropped);
    byId("reading-delay", HTMLElement).textContent =
      lastDelay === undefined ? "–" : span(lastDelay);
  };
  whenSpoken(showReadings);
  presses.listen((delay) => {
    lastDelay = delay;
    showReadings();
  });

  byId("indicator-reset", HTMLButtonElement).addEventListener("click", () => {
    Object.assign(readings, { longest: 0, dropped: 0 });
    lastDelay = undefined;
    indicator.clear();
    strip.clear();
    for (const { strip: small } of smallStrips) small.clear();
    showReadings();
  });
  const pause = byId("indicator-pause", HTMLButtonElement);
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    for (const figure of figures) figure.refresh();
  });
  whenSpoken(() => {
    pause.textContent = say("indicator.pause");
  });

  return (measure) => {
    if (figures[0]?.sees()) return;
    readings.longest = Math.max(readings.longest, measure.longestGap);
    readings.dropped += measure.dropped;
    showReadings();
  };
}
