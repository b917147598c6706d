/**
 * What must hold after every step: that all that had to follow from the event did follow, and that
 * the pool's state is what the world's books say.
 */

import { isDeepStrictEqual } from "node:util";
import { LONGEST_PAUSE, nextDeadline, step } from "./core.mjs";
import { isFull } from "./effect-rules.mjs";

/**
 * @param {import("./world.mjs").World} world
 * @param {object} turn
 */
export function checkStep(world, turn) {
  MUST_FOLLOW[turn.event.type](world, turn);
  if (turn.phase === "closed") checkClosed(world, turn);
  checkBooks(world);
  checkPlaces(world, turn);
  checkEagerness(world);
  checkAlarm(world);
}

/** For each event: what it must lead to. */
const MUST_FOLLOW = {
  queued(world, { event, task, phase, effects }) {
    const refusal = effects.find(
      (effect) => effect.type === "settle" && effect.task.id === task.id,
    );
    const kind = refusal && (refusal.outcome.why ?? refusal.outcome.kind);
    const wanted =
      (event.aborted && "aborted") ??
      (phase !== "open" ? world.end.kind : undefined) ??
      (world.known && !world.known.includes(task.name) ? "unknown" : undefined);
    if (wanted || kind === "full") {
      world.rule(kind === (wanted ?? "full"), "a task that cannot be taken is refused at once");
    } else {
      world.rule(!refusal, "a task that can be taken is taken");
    }
    world.rule(world.line.length <= world.limits.maxQueue, "no more than `maxQueue` tasks wait");
    if (kind === "full") world.rule(isFull(world), "a refusal frees nothing");
  },

  unsendable(world, turn) {
    const { task, kept } = turn;
    if (task) world.rule(task.state === "settled", "an unsendable task is settled at once");
    if (kept) world.rule(stillLives(world, kept), "an unsendable task leaves its worker free");
    const freed = kept && turn.wasCancelled ? 1 : 0;
    world.rule(count(turn, "freed") === freed, "a worker that was told to stop is freed");
    if (!task || (turn.wasSettled && !kept)) checkStale(world, turn);
  },

  ready(world, turn) {
    if (!turn.genuine) {
      checkStale(world, turn);
      return;
    }
    world.rule(count(turn, "ready") === 1, "a worker that is ready is announced");
    if (!turn.firstReady) return;
    const unknown = [...world.line].filter((task) => !world.known.includes(task.name));
    world.rule(unknown.length === 0, "a waiting task of an unknown name is refused");
  },

  answered(world, turn) {
    const { event, genuine, wasCancelled, task } = turn;
    if (!genuine) {
      world.rule(count(turn, "late") === 1, "an answer that nobody waits for is counted");
      checkStale(world, turn);
    } else if (wasCancelled) {
      world.rule(count(turn, "freed") === 1, "a worker that was told to stop is freed");
      const late = event.outcome.kind === "done" ? 1 : 0;
      world.rule(count(turn, "late") === late, "an answer that comes too late is counted");
      world.rule(task.state === "settled", "a task that was given up has ended");
    } else {
      world.rule(task.outcome === event.outcome, "an answer settles its task");
    }
  },

  progressed(world, turn) {
    if (turn.genuine) world.rule(count(turn, "progress") === 1, "progress is passed on");
    else checkStale(world, turn);
  },

  errored: lost,
  exited: lost,

  timePassed(world, { before }) {
    const { now } = world;
    world.rule(
      world.line.every((task) => task.deadline > now),
      "a waiting task ends when its time is over",
    );
    for (const slot of before.slots) {
      const worker = world.workers.get(slot.worker);
      if (!worker || worker.state === "dead") continue;
      if (slot.status === "starting") {
        world.rule(worker.bootEnd > now, "a worker that does not get ready is ended");
      } else if (slot.status === "busy") {
        const { cancelled, task } = worker;
        world.rule(cancelled || task.due > now, "a task that runs for too long is told to stop");
      } else if (slot.status === "stopping") {
        world.rule(worker.graceEnd > now, "a task that does not stop is ended with its worker");
      }
    }
  },

  aborted(world, turn) {
    if (!turn.task || turn.wasSettled) {
      checkStale(world, turn);
    } else {
      world.rule(turn.task.outcome?.kind === "aborted", "an abort settles its task at once");
    }
  },

  resumed(world, { before, state, event }) {
    const shifted = [...before.queue].map(({ deadline }) => deadline + event.away);
    world.rule(
      [...state.queue].every(({ deadline }) => shifted.includes(deadline)) ||
        world.line.length === 0,
      "no time passes while everything stands still",
    );
  },

  resized(world, turn) {
    if (turn.phase !== "open") {
      checkStale(world, turn);
      return;
    }
    const { size } = world.limits;
    world.rule(turn.state.limits.size === size, "the pool has the size that was asked for");
    world.rule(
      world.living.size <= Math.max(size, world.with("busy").length),
      "only workers with a task may outlive a shrinking",
    );
  },

  closing(world, { phase }) {
    world.rule(phase === "closed" || world.phase !== "open", "a pool closes");
  },

  destroyed(world) {
    world.rule(world.phase === "closed", "a destroyed pool is closed");
    world.rule(world.open().length === 0, "`destroy` settles everything at once");
    world.rule(world.living.size === 0, "`destroy` ends every worker");
  },
};

function lost(world, turn) {
  if (!turn.worker) {
    checkStale(world, turn);
    return;
  }
  world.rule(turn.worker.state === "dead", "a worker that is no good any longer is ended");
}

/** What comes too late, or from nobody, changes nothing; a pause may be over at this moment. */
function checkStale(world, { event, before, effects, state }) {
  const nothing = { type: "progressed", worker: -1, id: -1, value: 0 };
  const usual = step(before, nothing, world.now);
  world.rule(
    usual.effects.every(({ type }) => type === "start"),
    "of itself, time does no more than start a worker",
  );
  const late = event.type === "answered" ? 1 : 0;
  world.rule(
    effects.length === usual.effects.length + late &&
      isDeepStrictEqual(
        { ...state, counts: { ...state.counts, late: 0 } },
        { ...usual.state, counts: { ...usual.state.counts, late: 0 } },
      ),
    "what comes too late changes nothing",
  );
}

function checkClosed(world, { event, effects }) {
  const allowed = { queued: "settle", answered: "late" }[event.type];
  world.rule(
    effects.length === (allowed ? 1 : 0) && effects.every(({ type }) => type === allowed),
    "a closed pool does nothing but refuse",
  );
}

/** The pool's state, its counts, and the world's books are the same. */
function checkBooks(world) {
  const { state, counts, line, living } = world;
  world.rule(isDeepStrictEqual(state.counts, counts), "the pool counts what happens");
  world.rule(
    state.queue.length === line.length &&
      [...state.queue].every(({ id }, at) => id === line[at].id),
    "the queue has all tasks that wait, in order",
  );
  const placed = state.slots.filter(({ worker }) => worker > 0);
  world.rule(placed.length === living.size, "each living worker has a place");
  let running = 0;
  for (const slot of placed) {
    const worker = world.workers.get(slot.worker);
    world.rule(living.has(worker), "no dead worker has a place");
    const status = worker.cancelled ? "stopping" : STATUS[worker.state];
    world.rule(slot.status === status, "the pool knows what each worker does");
    world.rule(slot.task?.id === worker.task?.id, "the pool knows what each worker has");
    world.rule(!slot.leaving || slot.task, "a place without a task leaves at once");
    world.rule(slot.answered === worker.answered, "the pool counts each worker's answers");
    world.rule(!slot.answered || !slot.failures, "a worker that was of use ends a row of failures");
    if (worker.task && worker.task.state !== "settled") running += 1;
  }
  const { sent, late: _late, started: _started, lost: _lost, ...ends } = counts;
  const settled = Object.values(ends).reduce((sum, number) => sum + number, 0);
  world.rule(sent === settled + line.length + running, "sent = settled + waiting + running");
  world.rule(world.with("booting").length <= 1, "one worker boots at a time");
}

const STATUS = { booting: "starting", idle: "ready", busy: "busy" };

/** Each place stays what it was until its pause is over, and the pauses grow. */
function checkPlaces(world, { event, before, state }) {
  if (world.phase !== "open") return;
  const { size, bootAttempts, bootPause } = world.limits;
  const places = state.slots.filter(({ leaving }) => !leaving);
  world.rule(places.length === size, "there are `size` places");
  if (event.type === "resized" || event.type === "resumed") return;
  const earlier = before.slots.filter(({ leaving }) => !leaving);
  const leaves = ({ leaving }) => leaving;
  const lastLeft = before.slots.some(leaves) && !state.slots.some(leaves);
  for (const [at, was] of earlier.entries()) {
    const is = places[at];
    if (was.status === "empty" && was.until > world.now) {
      world.rule(is.worker === 0 && is.until === was.until, "a pause is not cut short");
    }
    if (was.status === "abandoned" && !earlier.every(({ status }) => status === "abandoned")) {
      world.rule(is.status === "abandoned", "a place that was given up stays so");
    }
    const died = was.worker > 0 && is.worker !== was.worker;
    const early = was.status === "starting" || (was.status === "ready" && was.answered === 0);
    if (!died || !early) continue;
    // Given up, and tried anew at once, since the last worker left in the same step.
    const anew = was.failures + 1 >= bootAttempts && lastLeft && is.failures === 0;
    if (anew) continue;
    world.rule(is.failures === was.failures + 1, "a worker that came to nothing is a failure");
    if (is.failures >= bootAttempts) {
      world.rule(is.status === "abandoned", "a place is given up after `bootAttempts`");
    } else if (is.status === "empty") {
      const pause = Math.min(bootPause * 4 ** was.failures, LONGEST_PAUSE);
      world.rule(is.until === world.now + pause, "each pause is four times as long");
    } else {
      world.rule(bootPause === 0, "a failed boot is followed by a pause");
    }
  }
}

/** Nothing is put off that could be done now. */
function checkEagerness(world) {
  const { state, line, now } = world;
  const free = world.with("idle").filter((worker) => !worker.leaving);
  world.rule(line.length === 0 || free.length === 0, "no task waits while a worker is free");
  world.rule(
    free.every(({ answered }) => answered < world.limits.maxTasksPerWorker),
    "a worker is ended after `maxTasksPerWorker` answers",
  );
  if (world.phase === "open" && !world.booting()) {
    world.rule(
      state.slots.every(({ status, until }) => status !== "empty" || until > now),
      "a free place gets a worker when its pause is over",
    );
  }
  world.rule(
    world.phase === "closed"
      ? state.slots.length === 0
      : world.failures < world.limits.bootAttempts,
    "a pool gives up after `bootAttempts` in a row, and then has no places",
  );
  if (world.phase === "closing") {
    world.rule(
      line.length > 0 || [...world.living].some((worker) => worker.task),
      "a closing pool ends with its last task",
    );
  }
}

/** The alarm that the shell sets goes off in time, and never for nothing. */
function checkAlarm(world) {
  const { state, now } = world;
  const alarm = nextDeadline(state);
  for (const { deadline } of world.line) world.rule(alarm <= deadline, IN_TIME);
  if (world.phase === "open" && !world.booting()) {
    for (const { status, until } of state.slots) {
      world.rule(status !== "empty" || alarm <= until, IN_TIME);
    }
  }
  for (const { state: is, cancelled, bootEnd, graceEnd, task } of world.living) {
    if (is === "booting") world.rule(alarm <= bootEnd, IN_TIME);
    if (is === "busy") world.rule(alarm <= (cancelled ? graceEnd : task.due), IN_TIME);
  }
  if (alarm === Number.POSITIVE_INFINITY) return;
  const passed = step(state, { type: "timePassed" }, Math.max(now, alarm));
  world.rule(passed.effects.length > 0, "the alarm never goes off for nothing");
  if (alarm <= now) return;
  const early = step(state, { type: "timePassed" }, now + (alarm - now) / 2);
  world.rule(early.effects.length === 0, "nothing happens before the alarm goes off");
}

const IN_TIME = "the alarm goes off when the next time is over";

function count({ effects }, type) {
  return effects.filter((effect) => effect.type === type).length;
}

function stillLives(world, worker) {
  return world.living.has(worker) || worker.leaving || world.phase !== "open";
}
