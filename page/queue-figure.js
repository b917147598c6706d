import { byId, find } from "./element.js";
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
 */

/** Where each state stands in the figure. */
const PLACES = /** @type {const} */ ([
  { state: "pending", x: 0, y: 40 },
  { state: "processing", x: 250, y: 40 },
  { state: "sent", x: 500, y: 0 },
  { state: "failed", x: 500, y: 54 },
  { state: "dead", x: 500, y: 108 },
]);
const BOX = { width: 220, height: 42 };

/** @param {Depth} depth */
export function showDepth(depth) {
  const counts = {
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
  drawFlow(counts);
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

/** @param {Record<string, number>} counts */
function drawFlow(counts) {
  const all = Math.max(1, ...PLACES.map(({ state }) => counts[state] ?? 0));
  const paths = [
    "M220 61H250",
    "M470 61H485V21H500",
    "M470 61H485V75H500",
    "M470 61H485V129H500",
  ].map((d) => svg("path", { class: "flow", d }));
  const boxes = PLACES.flatMap(({ state, x, y }) => {
    const count = counts[state] ?? 0;
    const fill =
      count === 0 ? 0 : Math.max(3, (Math.log1p(count) / Math.log1p(all)) * (BOX.width - 2));
    const group = svg("g", { class: `state state-${state}`, transform: `translate(${x} ${y})` });
    const use = svg("use", { href: `#sign-${state}`, x: 10, y: 13, width: 16, height: 16 });
    group.append(
      svg("rect", { class: "box", width: BOX.width, height: BOX.height, rx: 6 }),
      svg("rect", {
        class: "fill",
        x: 1,
        y: BOX.height - 6,
        width: fill.toFixed(1),
        height: 5,
        rx: 2,
      }),
      use,
      svg("text", { class: "box-name", x: 34, y: 26 }, say(`state.${state}`)),
      svg(
        "text",
        { class: "box-count", x: BOX.width - 12, y: 27, "text-anchor": "end" },
        whole(count),
      ),
    );
    return [group];
  });
  byId("queue-flow", SVGSVGElement).replaceChildren(...paths, ...boxes);
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
  byId("queue-constants", HTMLElement).replaceChildren(
    ...constants.map(([key, value]) => {
      const pair = document.createElement("div");
      const term = document.createElement("dt");
      const text = document.createElement("dd");
      term.textContent = say(key);
      text.textContent = value;
      pair.append(term, text);
      return pair;
    }),
  );
}
