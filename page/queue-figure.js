import { showConstants } from "./constants-list.js";
import { byId, find } from "./element.js";
import { FittedFigure } from "./fitted-figure.js";
import { age, percent, whole } from "./numbers.js";
import { svg } from "./svg.js";
import { say } from "./text.js";

/**
 * @typedef {object} Depth the answer of GET /api/queue/depth
 * @property {string} as_of
 * @property {"running" | "dormant"} mode
 * @property {{live: number}} workers
 * @property {{total: number, due: number, scheduled: number, retrying: number}} pending
 * @property {number} processing
 * @property {number} sent
 * @property {number} failed
 * @property {number} dead
 * @property {number | null} oldest_due_age_s
 *
 * @typedef {object} Policy the answer of GET /api/queue/policy; spans in seconds
 * @property {number} batch
 * @property {number} max_attempts
 * @property {number[]} backoff_s
 * @property {number} backoff_jitter
 * @property {number} lease_s
 * @property {number} time_scale
 * @property {boolean} lab whether the server has a lab
 */

const STATES = /** @type {const} */ (["pending", "processing", "sent", "failed", "dead"]);
/** @typedef {(typeof STATES)[number]} State */
/** Sizes in CSS pixels; below `NARROW` the states stand below each other. */
const BOX = { width: 200, height: 42 };
const NARROW = 660;
const STEP = 54;

/** @type {Record<string, number>} */
let counts = {};
/** @type {FittedFigure | undefined} */
let figure;

/** @param {Depth} depth */
export function showDepth(depth) {
  counts = {
    pending: depth.pending.total,
    due: depth.pending.due,
    scheduled: depth.pending.scheduled,
    retrying: depth.pending.retrying,
    processing: depth.processing,
    sent: depth.sent,
    failed: depth.failed,
    dead: depth.dead,
  };
  const table = byId("queue-table", HTMLTableElement);
  for (const [state, count] of Object.entries(counts)) {
    const row = find(table, `[data-state="${state}"]`, HTMLTableRowElement);
    const target = find(row, "td", HTMLTableCellElement);
    target.textContent = whole(count);
    target.dataset.value = String(count);
  }
  figure ??= new FittedFigure(byId("queue-flow", SVGSVGElement), flowAt);
  figure.redraw();
  const mode = byId("queue-mode", HTMLElement);
  mode.dataset.mode = depth.mode;
  mode.textContent = say(
    depth.workers.live === 1 ? "queue.mode.runningOne" : `queue.mode.${depth.mode}`,
    {
      live: whole(depth.workers.live),
    },
  );
  byId("queue-summary", HTMLElement).textContent =
    depth.oldest_due_age_s === null
      ? say("queue.summaryIdle", { sent: whole(depth.sent) })
      : say("queue.summaryBusy", {
          due: whole(depth.pending.due),
          processing: whole(depth.processing),
          oldest: age(depth.oldest_due_age_s),
        });
}

/**
 * The states as boxes, in the order in which a delivery passes through them.
 *
 * @param {number} width CSS pixels
 */
function flowAt(width) {
  const narrow = width < NARROW;
  const boxWidth = narrow ? width - 24 : BOX.width;
  const places = narrow ? belowEachOther() : besideEachOther(width);
  const flow = narrow
    ? [
        `M12 42V${STEP}`,
        `M12 ${STEP + 42}V${4 * STEP + 21}H24M12 ${2 * STEP + 21}H24M12 ${3 * STEP + 21}H24`,
      ]
    : wideFlow(width);
  const all = Math.max(1, ...STATES.map((state) => counts[state] ?? 0));
  const parts = [
    ...flow.map((d) => svg("path", { class: "flow", d })),
    ...STATES.map((state) => {
      const [x, y] = places[state];
      return box(state, x, y, boxWidth, all);
    }),
  ];
  return { height: narrow ? 4 * STEP + BOX.height : 3 * STEP - 12, parts };
}

/** @returns {Record<State, [number, number]>} */
const belowEachOther = () => ({
  pending: [0, 0],
  processing: [0, STEP],
  sent: [24, 2 * STEP],
  failed: [24, 3 * STEP],
  dead: [24, 4 * STEP],
});

/**
 * @param {number} width
 * @returns {Record<State, [number, number]>}
 */
const besideEachOther = (width) => ({
  pending: [0, STEP],
  processing: [(width - BOX.width) / 2, STEP],
  sent: [width - BOX.width, 0],
  failed: [width - BOX.width, STEP],
  dead: [width - BOX.width, 2 * STEP],
});

/** @param {number} width */
function wideFlow(width) {
  const middle = STEP + 21;
  const left = (width - BOX.width) / 2;
  const right = width - BOX.width;
  const turn = (left + BOX.width + right) / 2;
  return [
    `M${BOX.width} ${middle}H${left}`,
    `M${left + BOX.width} ${middle}H${right}`,
    `M${turn} ${middle}V21H${right}`,
    `M${turn} ${middle}V${2 * STEP + 21}H${right}`,
  ];
}

/**
 * @param {State} state
 * @param {number} x
 * @param {number} y
 * @param {number} width
 * @param {number} all the count at which the bar is full
 */
function box(state, x, y, width, all) {
  const count = counts[state] ?? 0;
  // Logarithmic: one dead delivery must be seen beside ten thousand sent ones.
  const fill = count === 0 ? 0 : Math.max(3, (Math.log1p(count) / Math.log1p(all)) * (width - 2));
  const group = svg("g", { class: `state state-${state}`, transform: `translate(${x} ${y})` });
  group.append(
    svg("rect", { class: "box", width, height: BOX.height, rx: 6 }),
    svg("rect", {
      class: "fill",
      x: 1,
      y: BOX.height - 6,
      width: fill.toFixed(1),
      height: 5,
      rx: 2,
    }),
    svg("use", { href: `#sign-${state}`, x: 10, y: 13, width: 16, height: 16 }),
    svg("text", { class: "box-name", x: 34, y: 26 }, say(`state.${state}`)),
    svg("text", { class: "box-count", x: width - 12, y: 27, "text-anchor": "end" }, whole(count)),
  );
  return group;
}

/** @param {Policy} policy */
export function showPolicy(policy) {
  /** @type {[string, string][]} */
  const constants = [
    ["policy.batch", whole(policy.batch)],
    ["policy.attempts", whole(policy.max_attempts)],
    ["policy.backoff", policy.backoff_s.map((seconds) => age(seconds)).join(" → ")],
    ["policy.jitter", say("policy.jitterUpTo", { share: percent(policy.backoff_jitter) })],
    ["policy.lease", age(policy.lease_s)],
    [
      "policy.scale",
      policy.time_scale === 1
        ? say("policy.realTime")
        : say("policy.scaled", { scale: String(policy.time_scale) }),
    ],
  ];
  showConstants(
    "queue-constants",
    constants.map(([key, value]) => [say(key), value]),
  );
}
