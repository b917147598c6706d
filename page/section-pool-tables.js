import { showConstants } from "./constants-list.js";
import { byId, find } from "./element.js";
import { size, span, whole } from "./numbers.js";
import { say } from "./text.js";

/**
 * @import { PoolStats } from "./pool.js"
 * @import { Ledger } from "./section-pool-ledger.js"
 * @import { Limits } from "./pool-state.js"
 * @import { BootReport } from "./protocol.js"
 */

/**
 * @param {PoolStats["workers"]} workers
 * @param {Map<number, BootReport>} boots by worker
 */
export function showWorkers(workers, boots) {
  const body = find(byId("pool-workers", HTMLTableElement), "tbody", HTMLTableSectionElement);
  const rows = workers.map(({ worker, status, task, answered }) => {
    const boot = boots.get(worker);
    return tableRow(worker > 0 ? whole(worker) : "–", [
      task ? `${say(`pool.status.${status}`)}: ${task.name}` : say(`pool.status.${status}`),
      whole(answered),
      boot ? span(boot.ms) : "–",
      boot ? size(boot.memory) : "–",
    ]);
  });
  body.replaceChildren(...rows);
}

/**
 * @param {string} head
 * @param {string[]} cells
 */
function tableRow(head, cells) {
  const row = document.createElement("tr");
  const name = document.createElement("th");
  name.scope = "row";
  name.textContent = head;
  row.append(
    name,
    ...cells.map((text) => {
      const cell = document.createElement("td");
      cell.textContent = text;
      return cell;
    }),
  );
  return row;
}

/**
 * What was sent must be what has settled and what the pool still has.
 *
 * @param {Ledger} ledger
 * @param {number} open tasks that the pool says it has
 */
export function showLedger(ledger, open) {
  const table = byId("pool-outcomes", HTMLTableElement);
  for (const [outcome, count] of Object.entries(ledger.outcomes)) {
    const cell = find(table, `[data-outcome="${outcome}"] td`, HTMLTableCellElement);
    cell.textContent = whole(count);
    cell.dataset.value = String(count);
  }
  const line = byId("pool-ledger", HTMLElement);
  const { sent, settled } = ledger;
  line.hidden = sent === 0;
  line.dataset.equal = String(sent === settled + open);
  line.dataset.sent = String(sent);
  line.dataset.settled = String(settled);
  line.dataset.open = String(open);
  line.textContent = say("pool.ledger", {
    sent: whole(sent),
    settled: whole(settled),
    open: whole(open),
  });
}

/** @param {Limits} limits */
export function showLimits(limits) {
  const never = (/** @type {number} */ value, /** @type {(value: number) => string} */ write) =>
    Number.isFinite(value) ? write(value) : say("pool.limit.none");
  /** @type {[string, string][]} */
  const constants = [
    ["pool.limit.maxQueue", whole(limits.maxQueue)],
    ["pool.limit.graceMs", span(limits.graceMs)],
    ["pool.limit.taskTimeout", never(limits.taskTimeout, span)],
    ["pool.limit.bootTimeout", span(limits.bootTimeout)],
    ["pool.limit.bootAttempts", whole(limits.bootAttempts)],
    ["pool.limit.bootPause", span(limits.bootPause)],
    ["pool.limit.maxTasksPerWorker", never(limits.maxTasksPerWorker, whole)],
  ];
  showConstants(
    "pool-constants",
    constants.map(([key, value]) => [say(key), value]),
  );
}
