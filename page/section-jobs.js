import { call } from "./api.js";
import { byId } from "./element.js";
import { log } from "./event-log.js";
import { age, size } from "./numbers.js";
import { drawJobs } from "./section-jobs-figure.js";
import { emptyJobs, listed, measured } from "./section-jobs-state.js";
import { showCost, showJobs, showRules, showRuns } from "./section-jobs-tables.js";
import { loadLaterWords, say, whenSpoken } from "./text.js";
import { showStatus } from "./told.js";

/**
 * The jobs: which there are, what is held while they sleep, and what becomes of one that is woken.
 *
 * @import { Cost, Job } from "./section-jobs-state.js"
 * @import { Run } from "./section-jobs-tables.js"
 */

await loadLaterWords();

const STATUS = "jobs-status";
const LOG = "jobs-log";
/** Milliseconds between two measurements, and between two looks at the jobs. */
const MEASURE = 1000;
const LIST = 5000;

class Jobs {
  #state = emptyJobs();
  /** @type {Cost | undefined} */
  #cost;
  /** @type {{lease_s: number, beat_s: number, jobs: Job[]} | undefined} */
  #jobs;
  /** @type {Run[] | undefined} */
  #runs = [];
  #chosen = "drain";
  #present = true;
  #near = false;
  #asking = false;
  #listedAt = Number.NEGATIVE_INFINITY;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #next;

  /** Measures from now on while it is seen. */
  open() {
    const section = byId("jobs-live", HTMLElement);
    section.addEventListener("click", ({ target }) => {
      const button = target instanceof Element && target.closest("button[data-act]");
      if (button instanceof HTMLButtonElement) this.#press(button);
    });
    whenSpoken(() => this.#show());
    new IntersectionObserver((entries) => {
      this.#near = entries.some(({ isIntersecting }) => isIntersecting);
      this.#attend();
    }).observe(section);
    document.addEventListener("visibilitychange", () => this.#attend());
  }

  /** @param {boolean} present whether a server answers */
  setPresent(present) {
    if (present === this.#present) return;
    this.#present = present;
    this.#attend();
  }

  /** Measures while the reader can see it, and asks nothing otherwise. */
  #attend() {
    clearTimeout(this.#next);
    if (this.#present && this.#near && !document.hidden) this.#look();
  }

  /** One measurement, never two at a time; and the jobs, when they may have changed. */
  async #look() {
    if (this.#asking) return;
    this.#asking = true;
    try {
      const before = this.#cost;
      /** @type {Cost} */
      const cost = await call("GET", "jobs/cost");
      this.#cost = cost;
      this.#state = measured(this.#state, cost);
      this.#tell(before, cost);
      const busy = [before, cost].some((one) => (one?.jobs.processes.length ?? 0) > 0);
      if (busy || performance.now() - this.#listedAt > LIST) await this.#list();
    } catch {
      // Whether the server is there at all is looked after elsewhere; this asks again.
    } finally {
      this.#asking = false;
    }
    this.#show();
    clearTimeout(this.#next);
    this.#next = setTimeout(() => this.#attend(), MEASURE);
  }

  async #list() {
    this.#listedAt = performance.now();
    this.#jobs = await call("GET", "jobs");
    this.#state = listed(this.#state, this.#jobs?.jobs ?? []);
    this.#runs = await call("GET", `jobs/${this.#chosen}/runs?limit=8`).then(
      ({ runs }) => runs,
      () => undefined,
    );
  }

  /**
   * Says which processes have come into being and which are gone.
   *
   * @param {Cost | undefined} before
   * @param {Cost} now
   */
  #tell(before, now) {
    const known = new Map(before?.jobs.processes.map((one) => [one.pid, one]));
    for (const one of now.jobs.processes) {
      if (known.delete(one.pid)) continue;
      const values = { job: one.job, pid: String(one.pid) };
      log(() => say("jobs.event.born", values), "worker", LOG);
    }
    for (const { job, pid, memory_bytes, cpu_s } of known.values()) {
      log(
        () =>
          say("jobs.event.gone", {
            job,
            pid: String(pid),
            memory: size(memory_bytes),
            cpu: age(cpu_s),
          }),
        "page",
        LOG,
      );
    }
  }

  #show() {
    if (!this.#cost || !this.#jobs) return;
    drawJobs(this.#state);
    showCost(this.#state, this.#cost);
    showJobs(this.#jobs.jobs, this.#chosen);
    showRuns(this.#chosen, this.#runs);
    showRules(this.#jobs);
  }

  /** @param {HTMLButtonElement} button */
  async #press({ dataset }) {
    const job = dataset.job ?? "";
    this.#chosen = job;
    try {
      if (dataset.act === "wake") {
        await call("POST", `jobs/${job}/runs`);
        showStatus(STATUS, () => say("jobs.done.wake", { job }));
      } else if (dataset.act === "cancel") {
        await call("POST", `jobs/${job}/runs/${dataset.run}/cancel`);
        showStatus(STATUS, () => say("jobs.done.cancel", { job }));
      }
    } catch (error) {
      const reason = error instanceof Error ? error.message : "";
      showStatus(
        STATUS,
        () => say("jobs.refused", { reason: reason || say("queue.noAnswer") }),
        true,
      );
    }
    this.#listedAt = Number.NEGATIVE_INFINITY;
    this.#attend();
  }
}

export const jobs = new Jobs();
