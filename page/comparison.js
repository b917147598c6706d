import { byId, find } from "./element.js";
import { FittedFigure } from "./fitted-figure.js";
import { countNumbers, sameNumbers, totalMs } from "./histogram-result.js";
import { span, times, whole } from "./numbers.js";
import { calledName } from "./photo.js";
import { svg } from "./svg.js";
import { say } from "./text.js";

/**
 * The two runs side by side: bars, table, sentence.
 *
 * @import { HistogramResult } from "./histogram-result.js"
 * @import { Place } from "./places.js"
 * @import { RunMeasure } from "./run-measure.js"
 * @typedef {{result: HistogramResult, measure: RunMeasure, bootMs: number, photo: string, bytes: number, maxSide: number}} Run
 */

const STAGES = /** @type {const} */ (["decode", "shrink", "count", "palette"]);
const PLACES = /** @type {const} */ (["main", "worker"]);
const COLUMN = { main: 0, worker: 1 };
const NOTHING = "–";
/** Height of one thread's lines, in CSS pixels. */
const ROW = 78;

/** @param {Partial<Record<Place, Run>>} runs at least one of them */
export function drawComparison(runs) {
  byId("comparison", HTMLElement).hidden = false;
  for (const place of PLACES) fillColumn(place, runs[place]);
  drawBars(runs);
  byId("comparison-summary", HTMLElement).textContent = summary(runs);
  showEquality(runs);
}

/**
 * @param {Place} place
 * @param {Run | undefined} run
 */
function fillColumn(place, run) {
  const stages = new Map(run?.result.stages.map(({ name, ms }) => [name, ms]));
  for (const name of STAGES) cell(name, place, stages.get(name), span);
  cell("total", place, run && totalMs(run.result), span);
  cell("gap", place, run?.measure.longestGap, span);
  cell("dropped", place, run?.measure.dropped, whole);
  cell("delay", place, run?.measure.longestDelay ?? undefined, span);
  cell("boot", place, run?.bootMs, span);
  cell("photo", place, undefined, whole).textContent = run ? calledName(run.photo) : NOTHING;
  const digest = cell("digest", place, undefined, whole);
  if (run) digest.textContent = run.result.digest.slice(0, 12);
}

/**
 * @param {string} row
 * @param {Place} place
 * @param {number | undefined} value
 * @param {(value: number) => string} format
 * @returns {HTMLTableCellElement}
 */
function cell(row, place, value, format) {
  const line = find(
    byId("comparison-table", HTMLTableElement),
    `[data-row="${row}"]`,
    HTMLTableRowElement,
  );
  const target = /** @type {HTMLTableCellElement} */ (line.querySelectorAll("td")[COLUMN[place]]);
  target.textContent = value === undefined ? NOTHING : format(value);
  if (value === undefined) delete target.dataset.value;
  else target.dataset.value = String(value);
  return target;
}

/** @type {Partial<Record<Place, Run>>} */
let drawn = {};
/** @type {FittedFigure | undefined} */
let figure;

/** @param {Partial<Record<Place, Run>>} runs */
function drawBars(runs) {
  drawn = runs;
  figure ??= new FittedFigure(byId("stage-bars", SVGSVGElement), barsAt);
  figure.redraw();
}

/**
 * Two lines a thread: the stages end to end, and below them the longest gap on the same scale.
 *
 * @param {number} width CSS pixels
 */
function barsAt(width) {
  const runs = PLACES.flatMap((place) => {
    const run = drawn[place];
    return run ? [{ place, run }] : [];
  });
  const longest = Math.max(
    1,
    ...runs.flatMap(({ run }) => [totalMs(run.result), run.measure.longestGap]),
  );
  const scale = (width - 2) / longest;
  const parts = runs.flatMap(({ place, run }, index) => {
    const top = index * ROW;
    let x = 1;
    const bars = run.result.stages.flatMap(({ name, ms }) => {
      const from = x;
      const length = Math.max(0.5, ms * scale - 1);
      x += ms * scale;
      const bar = svg("rect", {
        class: `stage stage-${name} on-${place}`,
        x: from.toFixed(1),
        y: top + 22,
        width: length.toFixed(1),
        height: 24,
      });
      if (length < 84) return [bar];
      const label = svg(
        "text",
        { class: "bar-inside", x: from + 8, y: top + 38 },
        say(`stage.${name}`),
      );
      return [bar, label];
    });
    const title = say("comparison.barTitle", {
      place: say(`place.${place}`),
      total: span(totalMs(run.result)),
      gap: span(run.measure.longestGap),
    });
    const gap = svg("rect", {
      class: `gap on-${place}`,
      x: 1,
      y: top + 49,
      width: Math.max(1.5, run.measure.longestGap * scale).toFixed(1),
      height: 10,
    });
    return [svg("text", { class: "bar-label", x: 0, y: top + 14 }, title), ...bars, gap];
  });
  return { height: runs.length * ROW, parts };
}

/**
 * @param {Partial<Record<Place, Run>>} runs
 * @returns {string}
 */
function summary({ main, worker }) {
  if (main && worker) {
    return say("comparison.summaryBoth", {
      mainTotal: span(totalMs(main.result)),
      mainGap: span(main.measure.longestGap),
      workerTotal: span(totalMs(worker.result)),
      workerGap: span(worker.measure.longestGap),
      ratio: times(main.measure.longestGap / Math.max(1, worker.measure.longestGap)),
    });
  }
  const run = /** @type {Run} */ (main ?? worker);
  return say(main ? "comparison.summaryMain" : "comparison.summaryWorker", {
    total: span(totalMs(run.result)),
    gap: span(run.measure.longestGap),
  });
}

/** @param {Partial<Record<Place, Run>>} runs */
function showEquality({ main, worker }) {
  const line = byId("equality", HTMLElement);
  delete line.dataset.equal;
  if (!main || !worker) {
    line.textContent = say("equality.waiting");
  } else if (pictureOf(main) !== pictureOf(worker)) {
    line.textContent = say("equality.different");
  } else {
    const equal = sameNumbers(main.result, worker.result);
    line.dataset.equal = String(equal);
    line.textContent = say(equal ? "equality.same" : "equality.broken", {
      count: whole(countNumbers(main.result)),
    });
  }
}

/** @param {Run} run */
const pictureOf = ({ photo, bytes, maxSide }) => [photo, bytes, maxSide].join("/");
