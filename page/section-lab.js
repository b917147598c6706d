import { announce } from "./announcer.js";
import { byId } from "./element.js";
import { log } from "./event-log.js";
import { whole } from "./numbers.js";
import * as server from "./section-lab-api.js";
import { drawLab, drawLeases } from "./section-lab-figure.js";
import { GOALS } from "./section-lab-goals.js";
import { nameOf } from "./section-lab-places.js";
import { emptyLab, reduce } from "./section-lab-state.js";
import { LabStream } from "./section-lab-stream.js";
import { showFigures, showGoals, showRows, showSummary } from "./section-lab-tables.js";
import { showCrew } from "./section-lab-workers.js";
import { loadLaterWords, say, whenSpoken } from "./text.js";
import { showStatus } from "./told.js";

/**
 * The lab: listens to what happens in the queue while the reader looks, and lets the reader break
 * the workers at it.
 *
 * @import { Behaviour, LabFigures, Verb } from "./section-lab-api.js"
 * @import { LabEvent, Line, Row } from "./section-lab-state.js"
 */

await loadLaterWords();

const STATUS = "lab-status";
const LOG = "lab-log";
/** Milliseconds until the workers are looked at again while some run, and after a change. */
const LOOK = 1000;
const LOOK_SOON = 250;
/** Milliseconds between two pictures of leases that run down. */
const TICK = 200;
const CALM_TICK = 1000;
/** Milliseconds between two such changes of the table. */
const TABLE_TICK = 1000;
/** What each choice of the channel's mood means. */
const MOODS = {
  well: { down: false, refuses: false, fails: 0 },
  fails: { down: false, refuses: false, fails: 2 },
  poison: { down: false, refuses: false, fails: 1000 },
  refuses: { down: false, refuses: true, fails: 0 },
  down: { down: true, refuses: false, fails: 0 },
};

/** @typedef {keyof typeof MOODS} Mood */

class Lab {
  #state = emptyLab();
  /** @type {LabFigures | undefined} */
  #figures;
  #paused = false;
  #present = true;
  #near = false;
  #drawing = false;
  #looking = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #look;
  #lookAt = Number.POSITIVE_INFINITY;
  #tableAt = 0;
  /** @type {ReturnType<typeof setInterval> | undefined} */
  #tick;
  #stream = new LabStream({
    onReset: (held) => {
      this.#hear({ type: "reset", held });
      this.#list();
    },
    onChanges: (changes) => this.#hear({ type: "changes", changes, now: Date.now() }),
    onState: (listening) => {
      byId("lab", HTMLElement).dataset.listening = String(listening);
    },
  });

  /**
   * Shows what the lab works by, and listens from now on while it is seen.
   *
   * @throws {server.LabError} when there is no lab
   */
  async open() {
    this.#figures = await server.readFigures();
    this.#hear({ type: "batch", limit: this.#figures.policy.batch });
    const [behaviour, paused] = await Promise.all([server.readChannel(), server.readPaused()]);
    this.#paused = paused;
    showBehaviour(behaviour);
    byId("lab", HTMLElement).hidden = false;
    byId("lab", HTMLElement).addEventListener("click", ({ target }) => {
      const button = target instanceof Element && target.closest("button[data-lab]");
      if (button instanceof HTMLButtonElement) this.#press(button);
    });
    for (const id of ["lab-mood", "lab-takes"]) {
      byId(id, HTMLSelectElement).addEventListener("change", () => this.#setChannel());
    }
    whenSpoken(() => {
      if (this.#figures) showFigures(this.#figures);
      this.#draw();
    });
    new IntersectionObserver((entries) => {
      this.#near = entries.some(({ isIntersecting }) => isIntersecting);
      this.#attend();
    }).observe(byId("lab", HTMLElement));
    document.addEventListener("visibilitychange", () => this.#attend());
  }

  /** @param {boolean} present whether a server answers */
  setPresent(present) {
    this.#present = present;
    this.#attend();
  }

  /** Listens and moves while the reader can see it, and stands still otherwise. */
  #attend() {
    clearInterval(this.#tick);
    if (!this.#attending) {
      clearTimeout(this.#look);
      this.#lookAt = Number.POSITIVE_INFINITY;
      this.#stream.close();
      return;
    }
    this.#stream.open();
    this.#lookIn(0);
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.#tick = setInterval(() => this.#runDown(), calm ? CALM_TICK : TICK);
  }

  get #attending() {
    return this.#present && this.#near && !document.hidden;
  }

  /** @param {LabEvent} event */
  #hear(event) {
    const { goals } = this.#state;
    this.#state = reduce(this.#state, event);
    for (const line of this.#state.lines) this.#note(line);
    for (const goal of GOALS) {
      if (!goals[goal] && this.#state.goals[goal]) {
        announce(() => say("lab.goalReached", { goal: say(`lab.goal.${goal}`) }));
      }
    }
    // Whoever took or left rows may be in another state now.
    if (this.#state.lines.length > 0) this.#lookIn(LOOK_SOON);
    if (this.#drawing) return;
    this.#drawing = true;
    requestAnimationFrame(() => {
      this.#drawing = false;
      this.#draw();
    });
  }

  /** @param {Line} line */
  #note({ what, count, row, attempt, current, holder }) {
    const key = count === 1 ? `lab.event.${what}` : `lab.event.${what}.many`;
    const values = {
      worker: holder ? nameOf(holder) : say("lab.someone"),
      row: whole(row),
      count: whole(count),
      attempt: whole(attempt),
      current: whole(current),
    };
    const bad = what === "refuse" || what.endsWith("-dead") || what.endsWith("-failed");
    log(() => say(key, values), bad ? "main" : "worker", LOG);
  }

  #draw() {
    const left = (/** @type {Row} */ row) => this.#leftOf(row);
    drawLab(this.#state, left);
    showCrew(this.#state);
    showRows(this.#state, this.#now);
    showSummary(this.#state, this.#paused);
    showGoals(this.#state.goals);
    const pause = byId("lab-pause", HTMLButtonElement);
    pause.textContent = say(this.#paused ? "lab.resume" : "lab.pause");
  }

  #runDown() {
    if (this.#state.counts.processing === 0 && this.#state.counts.pending === 0) return;
    drawLeases();
    if (performance.now() - this.#tableAt < TABLE_TICK) return;
    this.#tableAt = performance.now();
    showRows(this.#state, this.#now);
  }

  /** The database's time, as far as it is known here. */
  get #now() {
    const { clock } = this.#state;
    return Date.now() - (Number.isFinite(clock) ? clock : 0);
  }

  /** @param {Row} row */
  #leftOf({ leaseEnds }) {
    const { policy } = /** @type {LabFigures} */ (this.#figures);
    const left = (leaseEnds - this.#now) / (1000 * policy.lease_s * policy.time_scale);
    return Math.min(1, Math.max(0, left));
  }

  /** Fetches the rows that wait already: the stream tells of them only when they change. */
  async #list() {
    const rows = await server.readPending().catch(() => []);
    this.#hear({ type: "listed", rows });
  }

  /** @param {number} ms after which the workers are looked at, unless that is due sooner */
  #lookIn(ms) {
    const at = performance.now() + ms;
    if (at >= this.#lookAt || !this.#attending) return;
    clearTimeout(this.#look);
    this.#lookAt = at;
    this.#look = setTimeout(() => this.#lookAtWorkers(), ms);
  }

  /** Asks for the workers, never twice at a time, and again while some of them run. */
  async #lookAtWorkers() {
    this.#lookAt = Number.POSITIVE_INFINITY;
    if (this.#looking) {
      this.#lookIn(LOOK_SOON);
      return;
    }
    this.#looking = true;
    const workers = await server.readWorkers().catch(() => undefined);
    this.#looking = false;
    if (workers) this.#hear({ type: "workers", workers });
    if (this.#state.workers.some(({ state }) => state !== "ended")) this.#lookIn(LOOK);
  }

  /** @param {HTMLButtonElement} button */
  async #press({ dataset }) {
    const worker = Number(dataset.worker);
    const name = this.#state.workers.find(({ id }) => id === worker)?.name ?? "";
    try {
      switch (dataset.lab) {
        case "enqueue": {
          const count = Number(dataset.count);
          await server.enqueue(say("queue.demoText"), count);
          showStatus(STATUS, () => say("lab.done.enqueue", { count: whole(count) }));
          break;
        }
        case "start":
          await server.startWorker();
          showStatus(STATUS, () => say("lab.done.start"));
          break;
        case "drain":
          await server.startDrain();
          showStatus(STATUS, () => say("lab.done.drain"));
          break;
        case "pause":
          await server.setPaused(!this.#paused);
          this.#paused = !this.#paused;
          showStatus(STATUS, () => say(this.#paused ? "lab.done.pause" : "lab.done.resume"));
          break;
        default:
          await server.act(worker, /** @type {Verb} */ (dataset.lab));
          showStatus(STATUS, () => say(`lab.done.${dataset.lab}`, { worker: name }));
      }
    } catch (error) {
      this.#complain(error);
    }
    this.#lookIn(0);
    this.#draw();
  }

  async #setChannel() {
    const mood = /** @type {Mood} */ (byId("lab-mood", HTMLSelectElement).value);
    const takes_s = Number(byId("lab-takes", HTMLSelectElement).value);
    try {
      await server.setChannel({ ...MOODS[mood], takes_s });
      showStatus(STATUS, () => say("lab.done.channel"));
    } catch (error) {
      this.#complain(error);
    }
  }

  /** @param {unknown} error */
  #complain(error) {
    const reason = error instanceof server.LabError ? error.message : String(error);
    showStatus(STATUS, () => say("lab.refused", { reason: reason || say("queue.noAnswer") }), true);
  }
}

/**
 * Puts the two choices to what the channel does already.
 *
 * @param {Behaviour} behaviour
 */
function showBehaviour({ down, refuses, fails, takes_s }) {
  const mood = down
    ? "down"
    : refuses
      ? "refuses"
      : fails > 2
        ? "poison"
        : fails
          ? "fails"
          : "well";
  byId("lab-mood", HTMLSelectElement).value = mood;
  const takes = byId("lab-takes", HTMLSelectElement);
  const known = [...takes.options].some(({ value }) => value === String(takes_s));
  takes.value = known ? String(takes_s) : takes.options[1].value;
}

export const lab = new Lab();
