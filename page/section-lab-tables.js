import { showConstants } from "./constants-list.js";
import { byId, find } from "./element.js";
import { age, whole } from "./numbers.js";
import { GOALS } from "./section-lab-goals.js";
import { nameOf } from "./section-lab-places.js";
import { svg } from "./svg.js";
import { say } from "./text.js";

/**
 * What the lab shows in words and numbers.
 *
 * @import { LabFigures } from "./section-lab-api.js"
 * @import { Goals } from "./section-lab-goals.js"
 * @import { LabState, Row } from "./section-lab-state.js"
 */

const MOST_ROWS = 10;
const RANK = { processing: 0, pending: 1, dead: 2, failed: 2, sent: 2 };

/**
 * The rows of the table: what is held first, then what has failed before, then what ended last.
 *
 * @param {LabState} state
 * @param {number} now ms by the database's clock
 */
export function showRows({ rows }, now) {
  const body = find(byId("lab-rows", HTMLTableElement), "tbody", HTMLTableSectionElement);
  const rank = (/** @type {Row} */ { status, attempt }) =>
    status === "pending" && attempt === 0 ? 3 : RANK[status];
  const shown = [...rows.values()]
    .sort((one, other) => rank(one) - rank(other) || other.turn - one.turn)
    .slice(0, MOST_ROWS)
    .sort((one, other) => one.id - other.id);
  body.replaceChildren(...shown.map((row) => rowOf(row, now)));
  if (shown.length === 0) body.append(emptyRow());
}

function emptyRow() {
  const row = document.createElement("tr");
  const cell = document.createElement("td");
  cell.colSpan = 5;
  cell.textContent = say("lab.noRows");
  row.append(cell);
  return row;
}

/**
 * @param {Row} row
 * @param {number} now
 */
function rowOf({ id, status, attempt, maxAttempts, holder, leaseEnds, nextAt }, now) {
  const row = document.createElement("tr");
  row.dataset.state = status;
  row.dataset.row = String(id);
  const head = document.createElement("th");
  head.scope = "row";
  head.textContent = whole(id);
  const state = document.createElement("td");
  const sign = svg("svg", { class: "sign", "aria-hidden": "true" });
  sign.append(svg("use", { href: `#sign-${status}` }));
  state.append(sign, ` ${say(`state.${status}`)}`);
  const left = (/** @type {number} */ until) => age(Math.max(0, (until - now) / 1000));
  let when = "–";
  if (status === "processing" && leaseEnds <= now) when = say("lab.leaseOver");
  else if (status === "processing") when = say("lab.leaseLeft", { span: left(leaseEnds) });
  else if (status === "pending" && nextAt > now) when = say("lab.dueIn", { span: left(nextAt) });
  else if (status === "pending") when = say("lab.dueNow");
  const cells = [
    say("lab.attemptOf", { attempt: whole(attempt), most: whole(maxAttempts) }),
    holder ? nameOf(holder) : "–",
    when,
  ].map((text) => {
    const cell = document.createElement("td");
    cell.textContent = text;
    return cell;
  });
  row.append(head, state, ...cells);
  return row;
}

/**
 * @param {LabState} state
 * @param {boolean} paused
 */
export function showSummary({ counts, workers }, paused) {
  const alive = workers.filter(({ state }) => state !== "ended").length;
  const key = alive === 0 ? "lab.summaryAsleep" : "lab.summary";
  const words = say(key, {
    workers: whole(alive),
    pending: whole(counts.pending),
    processing: whole(counts.processing),
    sent: whole(counts.sent),
    failed: whole(counts.failed),
    dead: whole(counts.dead),
  });
  byId("lab-summary", HTMLElement).textContent = paused ? `${words} ${say("lab.paused")}` : words;
}

/**
 * Ticks off what was reached, and says by what.
 *
 * @param {Goals} goals
 */
export function showGoals(goals) {
  const list = byId("lab-goals", HTMLElement);
  for (const goal of GOALS) {
    const entry = find(list, `[data-goal="${goal}"]`, HTMLElement);
    const reached = goals[goal] !== null;
    entry.dataset.reached = String(reached);
    find(entry, "use", SVGUseElement).setAttribute(
      "href",
      reached ? "#sign-sent" : "#sign-pending",
    );
    find(entry, ".goal-state", HTMLElement).textContent = say(
      reached ? "lab.goal.reached" : "lab.goal.open",
    );
    find(entry, ".goal-found", HTMLElement).textContent = foundBy(goals, goal);
  }
  const reached = GOALS.filter((goal) => goals[goal] !== null).length;
  byId("lab-goals-count", HTMLElement).textContent = say("lab.goalsCount", {
    reached: whole(reached),
    all: whole(GOALS.length),
  });
}

/**
 * @param {Goals} goals
 * @param {(typeof GOALS)[number]} goal
 * @returns {string} what was seen; nothing if it was not
 */
function foundBy(goals, goal) {
  const found = goals[goal];
  if (goal === "shared" && goals.twice > 0) return say("lab.found.twice");
  if (goal === "batch" && goals.over > 0) return say("lab.found.over");
  if (!found) return "";
  const values = Object.entries(found).map(([name, value]) => {
    if (name === "ms") return ["span", age(Number(value) / 1000)];
    if (name === "holder") return ["worker", nameOf(String(value))];
    return [name, whole(Number(value))];
  });
  return say(`lab.found.${goal}`, Object.fromEntries(values));
}

/** @param {LabFigures} figures */
export function showFigures({ policy, workers, worker_s }) {
  const both = (/** @type {number} */ seconds) =>
    say("lab.scaled", { real: age(seconds), here: age(seconds * policy.time_scale) });
  showConstants("lab-constants", [
    [say("policy.batch"), whole(policy.batch)],
    [say("policy.attempts"), whole(policy.max_attempts)],
    [say("policy.lease"), both(policy.lease_s)],
    [say("lab.sendLimit"), both(policy.send_timeout_s)],
    [say("policy.backoff"), policy.backoff_s.map(both).join(" → ")],
    [say("policy.scale"), say("policy.scaled", { scale: String(policy.time_scale) })],
    [say("lab.workersMost"), whole(workers)],
    [say("lab.workerLives"), age(worker_s)],
  ]);
  for (const option of byId("lab-takes", HTMLSelectElement).options) {
    option.textContent = both(Number(option.value));
  }
}
