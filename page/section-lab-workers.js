import { byId, find } from "./element.js";
import { whole } from "./numbers.js";
import { say } from "./text.js";

/**
 * The lab's workers as a list with their buttons. Entries and buttons are kept from one look to the
 * next, so that the focus stays where it is.
 *
 * @import { LabState, LabWorker } from "./section-lab-state.js"
 */

/** Which buttons a worker has, by its state. */
const OFFERED = {
  starting: ["kill"],
  running: ["freeze-sending", "freeze", "stop", "kill"],
  frozen: ["thaw", "kill"],
  ended: [],
};
const VERBS = ["freeze-sending", "freeze", "thaw", "stop", "kill"];

/** @param {LabState} state */
export function showCrew({ workers, rows, claims }) {
  const list = byId("lab-workers", HTMLElement);
  const alive = workers.filter(({ state }) => state !== "ended");
  byId("lab-nobody", HTMLElement).hidden = alive.length > 0;
  for (const entry of list.querySelectorAll("li")) {
    if (alive.some(({ id }) => String(id) === entry.dataset.worker)) continue;
    keepFocus(entry);
    entry.remove();
  }
  for (const worker of alive) {
    const held = [...rows.values()].filter(({ holder }) => holder === worker.holder).length;
    const entry = list.querySelector(`li[data-worker="${worker.id}"]`) ?? added(list, worker);
    show(/** @type {HTMLElement} */ (entry), worker, held, claims.get(worker.holder) ?? 0);
  }
}

/**
 * @param {HTMLElement} list
 * @param {LabWorker} worker
 */
function added(list, { id, name }) {
  const entry = document.createElement("li");
  entry.dataset.worker = String(id);
  const words = document.createElement("p");
  const buttons = document.createElement("div");
  buttons.className = "figure-controls";
  buttons.setAttribute("role", "group");
  buttons.setAttribute("aria-label", name);
  for (const verb of VERBS) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet";
    button.dataset.lab = verb;
    button.dataset.worker = String(id);
    buttons.append(button);
  }
  entry.append(words, buttons);
  list.append(entry);
  return entry;
}

/**
 * @param {HTMLElement} entry
 * @param {LabWorker} worker
 * @param {number} held rows
 * @param {number} taken rows
 */
function show(entry, { name, state, sending, freezing }, held, taken) {
  entry.dataset.state = state;
  entry.dataset.sending = String(sending);
  find(entry, "p", HTMLElement).textContent = say("lab.workerLine", {
    name,
    state: say(freezing ? "lab.state.freezing" : `lab.state.${state}`),
    held: whole(held),
    sending: whole(sending),
    taken: whole(taken),
  });
  /** @type {readonly string[]} */
  const offered = OFFERED[state];
  const buttons = [...entry.querySelectorAll("button")];
  const focused = buttons.find((button) => button === document.activeElement);
  for (const button of buttons) {
    const verb = button.dataset.lab ?? "";
    button.textContent = say(`lab.verb.${verb}`);
    button.hidden = !offered.includes(verb);
    if (verb === "freeze-sending") button.setAttribute("aria-pressed", String(freezing));
  }
  // Who has just frozen one by its button finds there what can be done next.
  if (focused?.hidden) buttons.find(({ hidden }) => !hidden)?.focus();
}

/** @param {HTMLElement} entry that goes away */
function keepFocus(entry) {
  if (!entry.contains(document.activeElement)) return;
  byId("lab-start", HTMLButtonElement).focus();
}
