import { byId } from "./element.js";
import { FittedFigure } from "./fitted-figure.js";
import { age, size } from "./numbers.js";
import { SPAN } from "./section-jobs-state.js";
import { svg } from "./svg.js";
import { say } from "./text.js";

/**
 * Two lanes over the same minute and a half: the memory that is held because a worker waits, and
 * that which is held because a job runs.
 *
 * @import { JobsState, Sample } from "./section-jobs-state.js"
 */

/** Sizes in CSS pixels. */
const LANE = 72;
const TITLE = 22;
const GAP = 22;
/** A run is seen even if it was shorter than this. */
const SHORTEST = 3;

/** @type {JobsState} */
let state = { samples: [], runs: [] };
/** @type {FittedFigure | undefined} */
let figure;

/** @param {JobsState} now */
export function drawJobs(now) {
  state = now;
  figure ??= new FittedFigure(byId("jobs-strip", SVGSVGElement), stripAt);
  figure.redraw();
}

/** @param {number} width */
function stripAt(width) {
  const { samples, runs } = state;
  const end = samples.at(-1)?.at ?? 0;
  const x = (/** @type {number} */ at) => Math.max(0, width * (1 - (end - at) / SPAN));
  const most = Math.max(
    1,
    ...samples.map((one) => Math.max(one.jobs, one.workers)),
    ...runs.map((one) => one.memory),
  );
  const height = (/** @type {number} */ bytes) => (LANE * bytes) / most;
  const second = TITLE + LANE + GAP + TITLE;
  const last = samples.at(-1);
  return {
    height: second + LANE + 24,
    parts: [
      title(0, "jobs.laneWorkers", last?.workers ?? 0),
      ground(TITLE + LANE, width),
      svg("path", {
        class: "jobs-held-worker",
        d: steps(samples, TITLE + LANE, x, ({ workers }) => height(workers)),
      }),
      title(TITLE + LANE + GAP, "jobs.laneJobs", last?.jobs ?? 0),
      ground(second + LANE, width),
      ...runs
        .filter(({ to }) => to >= end - SPAN)
        .map(({ from, to, memory }) => {
          const left = x(from);
          const tall = Math.max(4, height(memory));
          return svg("rect", {
            class: "jobs-held-job",
            x: left,
            y: second + LANE - tall,
            width: Math.max(SHORTEST, x(Math.min(to, end)) - left),
            height: tall,
          });
        }),
      svg("text", { class: "jobs-axis", x: 0, y: second + LANE + 18 }, age(SPAN / 1000)),
      svg(
        "text",
        { class: "jobs-axis", x: width, y: second + LANE + 18, "text-anchor": "end" },
        say("jobs.now"),
      ),
    ],
  };
}

/**
 * @param {number} y
 * @param {string} key
 * @param {number} bytes
 */
const title = (y, key, bytes) =>
  svg("text", { class: "jobs-lane", x: 0, y: y + 14 }, say(key, { memory: size(bytes) }));

/**
 * @param {number} y
 * @param {number} width
 */
const ground = (y, width) => svg("path", { class: "jobs-ground", d: `M0 ${y}H${width}` });

/**
 * @param {Sample[]} samples
 * @param {number} floor
 * @param {(at: number) => number} x
 * @param {(one: Sample) => number} height
 * @returns {string} the outline of what was held, each measurement until the next
 */
function steps(samples, floor, x, height) {
  const [first] = samples;
  if (!first) return "";
  const line = samples.map((one) => `H${x(one.at)}V${floor - height(one)}`).join("");
  return `M${x(first.at)} ${floor}${line}V${floor}Z`;
}
