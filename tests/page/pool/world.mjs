import { inspect } from "node:util";
import { nextDeadline, openPool, step } from "./core.mjs";
import { EFFECT_RULES } from "./effect-rules.mjs";
import { checkStep } from "./step-rules.mjs";

/** Limits that decide nothing unless a test sets them. */
const WIDE = {
  size: 1,
  maxQueue: Number.POSITIVE_INFINITY,
  bootTimeout: Number.POSITIVE_INFINITY,
  taskTimeout: Number.POSITIVE_INFINITY,
  graceMs: 10,
  maxTasksPerWorker: Number.POSITIVE_INFINITY,
  bootAttempts: 3,
  bootPause: 10,
};

/** What the workers of this world can do, unless a test says otherwise. */
export const TASKS = Object.freeze(["square", "echo"]);

/** A rule does not hold. The message has everything that happened until then. */
export class BrokenRule extends Error {
  name = "BrokenRule";
}

/**
 * An imaginary world around the rules of the pool: it carries out their effects on workers that
 * exist only here, keeps its own books of them and of the tasks, and checks at every step that what
 * the rules say is allowed and complete by these books.
 *
 * A task is `new` (not taken yet), `waiting`, `running` or `settled`. A worker is `booting`, `idle`,
 * `busy` or `dead`; it is busy until it answers, whether or not somebody waits for the answer.
 */
export class World {
  now = 0;
  phase = "open";
  /** How the pool ended. */
  end = { kind: "closed" };
  /** Every task ever sent, by id. */
  tasks = new Map();
  /** The tasks that wait, in the order in which they must start. */
  line = [];
  /** Every worker ever started, by number. */
  workers = new Map();
  /** Those that are not dead. */
  living = new Set();
  known = null;
  counts = {
    sent: 0,
    done: 0,
    failed: 0,
    refused: 0,
    aborted: 0,
    timedOut: 0,
    crashed: 0,
    closed: 0,
    unbootable: 0,
    late: 0,
    started: 0,
    lost: 0,
  };
  /** Chances to boot that there have been: places, and what makes a place worth another try. */
  chances = 0;
  /** Workers in a row that died without having been of any use, while no other was there. */
  failures = 0;
  log = [];

  /** @param {object} [limits] those that differ from WIDE */
  constructor(limits = {}) {
    this.limits = { ...WIDE, ...limits };
    this.given = this.limits;
    this.state = freeze(openPool(this.limits));
    this.chances = this.limits.size;
  }

  /**
   * Lets something happen to the pool, carries out what follows, and checks all of it.
   * @param {object} event
   * @returns {object[]} the effects
   */
  happen(event) {
    freeze(event);
    const turn = { event, before: this.state, phase: this.phase, now: this.now };
    this.#befall(turn);
    try {
      Object.assign(turn, step(this.state, event, this.now));
    } catch (error) {
      this.log.push({ at: this.now, event, effects: [] });
      this.break(`a step throws nothing, and leaves the state before as it is: ${error}`);
    }
    this.log.push({ at: this.now, event, effects: turn.effects });
    this.state = freeze(turn.state);
    this.phase = turn.state.phase;
    this.#queue(turn);
    for (const effect of turn.effects) {
      this.rule(Object.hasOwn(EFFECT_RULES, effect.type), "only known effects");
      EFFECT_RULES[effect.type](this, effect, turn);
    }
    for (const slot of this.state.slots) {
      if (slot.worker > 0) this.workers.get(slot.worker).leaving = slot.leaving;
    }
    checkStep(this, turn);
    return turn.effects;
  }

  /** Time goes on, and nobody tells the pool. */
  wait(ms) {
    this.now += ms;
  }

  /** The timer that the shell sets goes off, or went off a little late. */
  pass(late = 0) {
    const deadline = nextDeadline(this.state);
    if (deadline === Number.POSITIVE_INFINITY) return [];
    this.now = Math.max(this.now, deadline + late);
    return this.happen({ type: "timePassed" });
  }

  /**
   * @param {object} [task]
   * @returns {object} the books of the task, whose `outcome` is there once it has one
   */
  send({ name = "echo", priority = 0, timeout = Number.POSITIVE_INFINITY, aborted } = {}) {
    const id = this.tasks.size + 1;
    const task = { id, name, priority, timeout };
    this.happen({ type: "queued", task, ...(aborted && { aborted }) });
    return this.tasks.get(id);
  }

  /** The worker that boots says that it is ready. */
  ready(tasks = TASKS, worker = this.booting()) {
    this.happen({ type: "ready", worker: worker?.number, tasks, boot: undefined });
    return worker;
  }

  /** Starts all workers of a pool that nothing has happened to yet. */
  boot() {
    this.happen({ type: "timePassed" });
    while (this.booting()) this.ready();
    return this;
  }

  /** A worker answers the task that it has. */
  answer(worker, outcome = { kind: "done", result: 1 }) {
    return this.happen({ type: "answered", worker: worker.number, id: worker.task.id, outcome });
  }

  fail(worker, error = mishap("the task failed")) {
    return this.answer(worker, { kind: "failed", error });
  }

  /** A worker dies with an error. */
  crash(worker = this.booting(), error = mishap("the worker died")) {
    return this.happen({ type: "errored", worker: worker.number, error });
  }

  abort(task, reason = "no longer wanted") {
    return this.happen({ type: "aborted", id: task.id, reason });
  }

  booting() {
    return this.with("booting")[0];
  }

  /** The living workers in a state. */
  with(state) {
    return [...this.living].filter((worker) => worker.state === state);
  }

  /** Tasks that wait or run and are not settled. */
  open() {
    return [...this.tasks.values()].filter((task) => task.state !== "settled");
  }

  /**
   * @param {unknown} holds
   * @param {string} sentence what should hold
   */
  rule(holds, sentence) {
    if (!holds) this.break(sentence);
  }

  /** @param {string} sentence what should have held */
  break(sentence) {
    const lines = this.log.map(
      ({ at, event, effects }) =>
        `  ${at}: ${show(event)}${effects.map((effect) => `\n      → ${show(effect)}`).join("")}`,
    );
    throw new BrokenRule(`${sentence}\nin a pool of ${show(this.given)}\n${lines.join("\n")}`);
  }

  /** What the event means for tasks and workers, whatever the pool makes of it. */
  #befall(turn) {
    const { event } = turn;
    const worker = this.workers.get(event.worker);
    turn.worker = worker && this.living.has(worker) ? worker : null;
    turn.task = this.tasks.get(event.id) ?? null;
    turn.wasSettled = turn.task?.state === "settled";
    switch (event.type) {
      case "queued":
        turn.task = { ...event.task, deadline: this.now + event.task.timeout, state: "new" };
        this.tasks.set(event.task.id, turn.task);
        this.counts.sent += 1;
        break;
      case "ready":
        turn.genuine = turn.worker?.state === "booting";
        if (!turn.genuine) break;
        worker.state = "idle";
        this.failures = 0;
        turn.firstReady = this.known === null;
        this.known ??= event.tasks;
        break;
      case "answered":
        turn.genuine = turn.worker?.task?.id === event.id;
        if (!turn.genuine) break;
        turn.wasCancelled = worker.cancelled;
        worker.answered += 1;
        release(worker);
        break;
      case "progressed":
        turn.genuine = turn.worker?.task?.id === event.id && !worker.cancelled;
        break;
      case "unsendable":
        // The worker never got it.
        turn.kept = [...this.living].find(({ task }) => task?.id === event.id);
        if (!turn.kept) break;
        turn.wasCancelled = turn.kept.cancelled;
        release(turn.kept);
        break;
      case "errored":
      case "exited":
        if (!turn.worker) break;
        this.counts.lost += 1;
        worker.doomed = true;
        break;
      case "resumed":
        for (const task of this.tasks.values()) {
          task.deadline += event.away;
          if (task.due !== undefined) task.due += event.away;
        }
        for (const each of this.living) {
          each.bootEnd += event.away;
          each.graceEnd += event.away;
        }
        break;
      case "resized":
        if (this.phase !== "open") break;
        this.limits = { ...this.limits, size: event.size };
        this.chances += event.size;
        break;
    }
  }

  /** Puts a task that is not refused into the line. */
  #queue({ event, task, effects }) {
    if (event.type !== "queued") return;
    if (effects.some((effect) => effect.type === "settle" && effect.task.id === task.id)) return;
    task.state = "waiting";
    const before = (other) => other.priority >= task.priority;
    this.line = [...this.line.filter(before), task, ...this.line.filter((t) => !before(t))];
  }
}

/** A worker has nothing to do any longer. */
function release(worker) {
  worker.state = "idle";
  worker.task = null;
  worker.cancelled = false;
}

/** @param {string} message */
export function mishap(message) {
  return { name: "Error", message, traceback: "" };
}

/** Makes a value that nobody can change, in all its depth. */
function freeze(value) {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const part of Object.values(value)) freeze(part);
  return value;
}

/** A value on one line. */
const show = (value) =>
  inspect(value, { breakLength: Number.POSITIVE_INFINITY, depth: 6, compact: true });
