import { showConstants } from "./constants-list.js";
import { byId, find } from "./element.js";
import { age, size, whole } from "./numbers.js";
import { ratesOf } from "./section-jobs-state.js";
import { svg } from "./svg.js";
import { canSay, currentLanguage, say } from "./text.js";

/**
 * What the jobs' section says in words and numbers.
 *
 * @import { Cost, Job, JobsState } from "./section-jobs-state.js"
 *
 * @typedef {object} Run of the answer of GET /api/jobs/{name}/runs
 * @property {number} id
 * @property {string} waker
 * @property {string | null} scheduled_for
 * @property {string} started_at
 * @property {number | null} took_s
 * @property {string} outcome
 * @property {string | null} error
 * @property {number | null} cpu_s
 * @property {number | null} memory_bytes
 */

/** @type {Record<string, string>} */
const SIGNS = {
  running: "processing",
  succeeded: "sent",
  failed: "failed",
  "timed-out": "failed",
  cancelled: "dead",
  lost: "dead",
};

/**
 * @param {JobsState} state
 * @param {Cost} cost
 */
export function showCost(state, { jobs, workers }) {
  const rates = ratesOf(state);
  const memory = state.samples.at(-1);
  const table = byId("jobs-cost", HTMLTableElement);
  const rate = (/** @type {number | undefined} */ one) =>
    one === undefined ? say("jobs.measuring") : whole(one);
  for (const [name, ...values] of [
    ["processes", whole(jobs.processes.length), whole(workers.processes.length)],
    ["memory", size(memory?.jobs ?? 0), size(memory?.workers ?? 0)],
    ["statements", rate(rates?.jobs), rate(rates?.workers)],
  ]) {
    const cells = find(table, `[data-cost="${name}"]`, HTMLTableRowElement).querySelectorAll("td");
    cells.forEach((cell, place) => {
      cell.textContent = values[place];
    });
  }
  table.dataset.jobs = String(jobs.processes.length);
  table.dataset.workers = String(workers.processes.length);
  const [running] = jobs.processes;
  const values = {
    workers: whole(workers.processes.length),
    memory: size(memory?.workers ?? 0),
    job: running?.job ?? "",
    pid: running ? String(running.pid) : "",
    own: size(memory?.jobs ?? 0),
  };
  byId("jobs-summary", HTMLElement).textContent = running
    ? say("jobs.summaryRunning", values)
    : say(workers.processes.length > 0 ? "jobs.summaryIdle" : "jobs.summaryNobody", values);
}

/**
 * @param {Job[]} jobs
 * @param {string} chosen whose history is shown
 */
export function showJobs(jobs, chosen) {
  const table = byId("jobs-table", HTMLTableElement);
  const body = find(table, "tbody", HTMLTableSectionElement);
  for (const job of jobs) {
    const known = body.querySelector(`tr[data-job="${job.name}"]`);
    const row = known instanceof HTMLTableRowElement ? known : rowOf(job.name);
    if (row !== known) body.append(row);
    const [does, woken, next, last] = row.querySelectorAll("td");
    does.textContent = canSay(`jobs.does.${job.name}`) ? say(`jobs.does.${job.name}`) : job.does;
    woken.textContent = job.triggers.map(triggerOf).join(", ") || say("jobs.onDemand");
    next.textContent = job.next_due_at ? moment(job.next_due_at) : say("jobs.never");
    if (job.last_run) putOutcome(last, job.last_run.outcome);
    else last.textContent = say("jobs.notYet");
    row.dataset.outcome = job.last_run?.outcome ?? "none";
    const [wake, cancel, show] = row.querySelectorAll("button");
    const runs = job.last_run?.outcome === "running";
    wake.textContent = say("jobs.wake");
    wake.setAttribute("aria-label", say("jobs.wakeNamed", { job: job.name }));
    wake.hidden = runs;
    cancel.textContent = say("jobs.cancel");
    cancel.setAttribute("aria-label", say("jobs.cancelNamed", { job: job.name }));
    cancel.hidden = !runs;
    cancel.dataset.run = String(job.last_run?.run ?? "");
    show.textContent = say("jobs.show");
    show.setAttribute("aria-label", say("jobs.showNamed", { job: job.name }));
    show.setAttribute("aria-pressed", String(job.name === chosen));
  }
}

/** @param {string} name */
function rowOf(name) {
  const row = document.createElement("tr");
  row.dataset.job = name;
  const head = document.createElement("th");
  head.scope = "row";
  const code = document.createElement("code");
  code.textContent = name;
  head.append(code);
  const cells = Array.from({ length: 5 }, () => document.createElement("td"));
  for (const act of ["wake", "cancel", "show"]) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet";
    button.dataset.act = act;
    button.dataset.job = name;
    cells[4].append(button, " ");
  }
  row.append(head, ...cells);
  return row;
}

/**
 * @param {string} name
 * @param {Run[] | undefined} runs undefined: this reader may not see them
 */
export function showRuns(name, runs) {
  byId("jobs-runs-name", HTMLElement).textContent = name;
  byId("jobs-hidden", HTMLElement).hidden = runs !== undefined;
  const table = byId("jobs-runs", HTMLTableElement);
  table.hidden = runs === undefined;
  const body = find(table, "tbody", HTMLTableSectionElement);
  body.replaceChildren(...(runs ?? []).map(runRow));
  if (runs?.length === 0) {
    const row = document.createElement("tr");
    const cell = document.createElement("td");
    cell.colSpan = 6;
    cell.textContent = say("jobs.noRuns");
    row.append(cell);
    body.append(row);
  }
}

/** @param {Run} run */
function runRow(run) {
  const row = document.createElement("tr");
  row.dataset.run = String(run.id);
  row.dataset.outcome = run.outcome;
  const head = document.createElement("th");
  head.scope = "row";
  head.textContent = whole(run.id);
  const texts = [
    say(`jobs.waker.${run.waker}`),
    moment(run.started_at),
    run.took_s === null ? "–" : age(run.took_s),
    run.memory_bytes === null || run.cpu_s === null
      ? "–"
      : say("jobs.used", { memory: size(run.memory_bytes), cpu: age(run.cpu_s) }),
  ];
  const cells = texts.map((text) => {
    const cell = document.createElement("td");
    cell.textContent = text;
    return cell;
  });
  const outcome = document.createElement("td");
  putOutcome(outcome, run.outcome);
  if (run.error) outcome.append(` (${run.error})`);
  row.append(head, ...cells, outcome);
  return row;
}

/**
 * @param {Element} cell
 * @param {string} outcome
 */
function putOutcome(cell, outcome) {
  const sign = svg("svg", { class: "sign", "aria-hidden": "true" });
  sign.append(svg("use", { href: `#sign-${SIGNS[outcome] ?? "pending"}` }));
  cell.replaceChildren(sign, ` ${say(`jobs.outcome.${outcome}`)}`);
}

/** @param {string} trigger */
function triggerOf(trigger) {
  const every = /^every ([\d.]+) s$/.exec(trigger);
  return every ? say("jobs.every", { span: age(Number(every[1])) }) : trigger;
}

/** @param {string} at */
const moment = (at) =>
  new Date(at).toLocaleString(currentLanguage(), {
    day: "numeric",
    month: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  });

/**
 * @param {{lease_s: number, beat_s: number, jobs: Job[]}} answer
 */
export function showRules({ lease_s, beat_s, jobs }) {
  showConstants("jobs-constants", [
    [say("jobs.lease"), age(lease_s)],
    [say("jobs.beat"), age(beat_s)],
    ...jobs.map(
      ({ name, timeout_s, catch_up }) =>
        /** @type {[string, string]} */ ([
          name,
          say(`jobs.rule.${catch_up}`, { timeout: age(timeout_s) }),
        ]),
    ),
  ]);
}
