import { byId } from "./element.js";
import { FittedFigure } from "./fitted-figure.js";
import { whole } from "./numbers.js";
import { svg } from "./svg.js";
import { say } from "./text.js";

/** @import { PoolStats } from "./pool.js" */

/**
 * What the figure shows.
 * @typedef {object} PoolView
 * @property {number} queued tasks that wait
 * @property {PoolStats["workers"]} workers
 * @property {(worker: PoolStats["workers"][number]) => number} progressOf 0 to 1: of the boot, or of
 *   the task
 * @property {{done: number, failed: number, lost: number}} settled
 */

/** Sizes in CSS pixels; below `NARROW` the parts stand below each other. */
const NARROW = 660;
const CELL = 15;
const MOST_CELLS = 60;
const ROW = 52;
/** Room for what an empty queue says. */
const WORDS = 84;
const BOX = 42;
const END_WIDTH = 214;
/** A line that branches does so at most this far before what it leads to. */
const TURN = 28;

/** @type {PoolView} */
let view = {
  queued: 0,
  workers: [],
  progressOf: () => 0,
  settled: { done: 0, failed: 0, lost: 0 },
};
/** @type {FittedFigure | undefined} */
let figure;

/** @param {PoolView} shown */
export function drawPool(shown) {
  view = shown;
  figure ??= new FittedFigure(byId("pool-flow", SVGSVGElement), poolAt);
  figure.redraw();
}

/**
 * Queue, workers and ends, in the order in which a task passes through them.
 *
 * @param {number} width CSS pixels
 */
function poolAt(width) {
  return width < NARROW ? narrow(width) : wide(width);
}

/** @param {number} width */
function wide(width) {
  const columns = 12;
  const queueWidth = columns * CELL;
  const rows = Math.max(view.workers.length, 3);
  const height = rows * ROW;
  const left = queueWidth + 56;
  const right = width - END_WIDTH;
  const middle = height / 2;
  const workersTop = middle - (view.workers.length * ROW - (ROW - BOX)) / 2;
  const endsTop = middle - (3 * ROW - (ROW - BOX)) / 2;
  const workerWidth = right - 56 - left;
  const parts = [
    ...flows(view.queued ? queueWidth : WORDS, left, middle, workersTop, view.workers.length),
    ...flows(right, left + workerWidth, middle, workersTop, view.workers.length),
    ...(view.workers.length > 0 ? flows(right - 28, right, middle, endsTop, 3) : []),
    ...queue(0, middle, columns),
    ...view.workers.map((worker, index) =>
      workerBox(worker, left, workersTop + index * ROW, workerWidth),
    ),
    ...ends(right, endsTop, END_WIDTH),
  ];
  return { height: height + 4, parts };
}

/** @param {number} width */
function narrow(width) {
  const columns = Math.floor(width / CELL);
  const queueHeight = Math.ceil(Math.min(view.queued, MOST_CELLS) / columns) * CELL;
  const workersTop = Math.max(queueHeight, CELL) + 40;
  const endsTop = workersTop + view.workers.length * ROW + 8;
  const parts = [
    ...queue(0, Math.max(queueHeight, CELL) / 2 + 24, columns),
    ...view.workers.map((worker, index) => workerBox(worker, 0, workersTop + index * ROW, width)),
    ...ends(0, endsTop, width),
  ];
  return { height: endsTop + 3 * ROW, parts };
}

/**
 * Lines from one point to the middle of each of several boxes.
 *
 * @param {number} from
 * @param {number} to
 * @param {number} middle
 * @param {number} top
 * @param {number} count
 */
function flows(from, to, middle, top, count) {
  const turn = Math.max((from + to) / 2, to - TURN);
  return Array.from({ length: count }, (_, index) =>
    svg("path", {
      class: "flow",
      d: `M${from} ${middle}H${turn}V${top + index * ROW + BOX / 2}H${to}`,
    }),
  );
}

/**
 * One square for each waiting task, as far as there is room, and their number.
 *
 * @param {number} left
 * @param {number} middle
 * @param {number} columns
 */
function queue(left, middle, columns) {
  const shown = Math.min(view.queued, MOST_CELLS);
  const rows = Math.max(1, Math.ceil(shown / columns));
  const top = middle - (rows * CELL) / 2;
  const cells = Array.from({ length: shown }, (_, index) =>
    svg("use", {
      href: "#sign-pending",
      class: "waiting",
      x: left + (index % columns) * CELL,
      y: top + Math.floor(index / columns) * CELL,
      width: CELL - 2,
      height: CELL - 2,
    }),
  );
  const words = say("pool.waiting", { count: whole(view.queued) });
  // Without any cells below them the words stand where the cells would.
  const y = shown === 0 ? middle + 4 : top - 8;
  return [...cells, svg("text", { class: "box-name", x: left, y }, words)];
}

/**
 * @param {PoolStats["workers"][number]} worker
 * @param {number} x
 * @param {number} y
 * @param {number} width
 */
function workerBox(worker, x, y, width) {
  const { status, task } = worker;
  const group = svg("g", {
    class: `pool-worker pool-worker-${status}`,
    transform: `translate(${x} ${y})`,
  });
  const name =
    worker.worker > 0
      ? say("pool.workerName", { worker: whole(worker.worker) })
      : say("pool.noWorker");
  const progress = Math.max(0, Math.min(1, view.progressOf(worker)));
  group.append(
    svg("rect", { class: "box", width, height: BOX, rx: 6 }),
    svg("rect", {
      class: "fill",
      x: 1,
      y: BOX - 6,
      width: (progress * (width - 2)).toFixed(1),
      height: 5,
      rx: 2,
    }),
    svg("use", { href: "#sign-worker", x: 10, y: 11, width: 18, height: 18 }),
    svg("text", { class: "box-name", x: 36, y: 25 }, name),
    svg(
      "text",
      { class: "box-state", x: width - (task ? 34 : 12), y: 25, "text-anchor": "end" },
      task ? task.name : say(`pool.status.${status}`),
    ),
  );
  if (task) {
    const sign = status === "stopping" ? "#sign-dead" : "#sign-processing";
    group.append(svg("use", { href: sign, x: width - 28, y: 12, width: 16, height: 16 }));
  }
  return group;
}

/**
 * @param {number} x
 * @param {number} top
 * @param {number} width
 */
function ends(x, top, width) {
  const { done, failed, lost } = view.settled;
  const boxes = /** @type {const} */ ([
    ["sent", "pool.endDone", done],
    ["failed", "pool.endFailed", failed],
    ["dead", "pool.endLost", lost],
  ]);
  return boxes.map(([sign, key, count], index) => {
    const group = svg("g", {
      class: `state state-${sign}`,
      transform: `translate(${x} ${top + index * ROW})`,
    });
    group.append(
      svg("rect", { class: "box", width, height: BOX, rx: 6 }),
      svg("use", { href: `#sign-${sign}`, x: 10, y: 13, width: 16, height: 16 }),
      svg("text", { class: "box-name", x: 34, y: 26 }, say(key)),
      svg("text", { class: "box-count", x: width - 12, y: 27, "text-anchor": "end" }, whole(count)),
    );
    return group;
  });
}
