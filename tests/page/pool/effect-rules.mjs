/**
 * For each effect: when it is allowed, by the world's own books, and what it does to them.
 *
 * `turn` has the event, the state and the phase before, and, where the event has any, its task, its
 * living worker, and whether it is `genuine`: what a living worker says of what it really has.
 */

import { isDeepStrictEqual } from "node:util";

export const EFFECT_RULES = {
  start(world, { worker: number }, { before }) {
    world.rule(world.phase !== "closed", "a closed pool starts no worker");
    world.rule(number > before.lastWorker, "no two workers have the same number");
    world.rule(!world.booting(), "workers start one after another");
    const staying = [...world.living].filter((worker) => !worker.leaving);
    world.rule(staying.length < world.limits.size, "there are never more workers than `size`");
    if (world.phase === "closing") {
      world.rule(
        world.line.length > 0 && world.living.size === 0,
        "a closing pool starts a worker only for tasks that nobody else does",
      );
    }
    const worker = {
      number,
      state: "booting",
      task: null,
      cancelled: false,
      answered: 0,
      bootEnd: world.now + world.limits.bootTimeout,
      graceEnd: Number.POSITIVE_INFINITY,
      leaving: false,
      doomed: false,
    };
    world.workers.set(number, worker);
    world.living.add(worker);
    world.counts.started += 1;
    world.rule(
      world.counts.started <= world.chances * world.limits.bootAttempts,
      "a place gets no more than `bootAttempts` workers until one has had a task",
    );
  },

  post(world, effect) {
    const worker = world.workers.get(effect.worker);
    const task = world.tasks.get(effect.task.id);
    world.rule(worker && world.living.has(worker), "a task goes to a living worker");
    world.rule(worker.state !== "booting", "a worker gets no task before it is ready");
    world.rule(worker.state !== "busy", "a worker gets no second task before the first is over");
    world.rule(!worker.doomed && !worker.leaving, "a worker that goes gets no further task");
    world.rule(task?.state === "waiting", "only a task that waits is started");
    world.rule(world.line[0] === task, "tasks start by priority, then in the order of the calls");
    world.rule(world.known.includes(task.name), "no worker gets a task of an unknown name");
    world.line = world.line.slice(1);
    worker.state = "busy";
    worker.task = task;
    world.chances += 1;
    task.state = "running";
    task.worker = worker;
    task.due = Math.min(task.deadline, world.now + world.limits.taskTimeout);
  },

  cancel(world, effect, { event }) {
    const worker = world.workers.get(effect.worker);
    const task = world.tasks.get(effect.task.id);
    world.rule(world.living.has(worker), "only a living worker is told to stop");
    world.rule(worker.task === task && !worker.cancelled, "a task is told to stop once");
    world.rule(
      (event.type === "aborted" && event.id === task.id) ||
        (event.type === "timePassed" && task.due <= world.now),
      "a task runs until it is aborted or its time is over",
    );
    task.limit = task.deadline <= world.now ? "timeout" : "taskTimeout";
    worker.cancelled = true;
    worker.graceEnd = world.now + world.limits.graceMs;
  },

  freed(world, { worker, task, ended }, { event, genuine, wasCancelled, kept }) {
    world.rule(wasCancelled, "only a worker that was told to stop is freed");
    world.rule(
      (genuine && event.worker === worker && event.id === task.id) ||
        (kept?.number === worker && event.id === task.id),
      "a worker is freed by its own answer",
    );
    world.rule(ended === howEnded(event), "`ended` says how the task ended");
  },

  end(world, { worker: number, reason, error }, { event }) {
    const worker = world.workers.get(number);
    world.rule(worker && world.living.has(worker), "a worker is ended once");
    const over = event.type === "timePassed";
    const reasons = {
      boot: worker.state === "booting" && (worker.doomed || (over && worker.bootEnd <= world.now)),
      crash: worker.state !== "booting" && worker.doomed,
      terminated: worker.cancelled && over && worker.graceEnd <= world.now,
      recycled: worker.state === "idle" && worker.answered >= world.limits.maxTasksPerWorker,
      resized: worker.state !== "busy" && (worker.leaving || event.type === "resized"),
      closed:
        world.phase === "closing" || world.state.end.kind === "unbootable"
          ? worker.state !== "busy"
          : world.phase === "closed",
    };
    world.rule(reasons[reason], `a worker is ended for a reason that is true: ${reason}`);
    if (event.type === "errored" && worker.doomed) {
      world.rule(error === event.error, "what a worker died of is told");
    }
    if (reason === "closed" && world.state.end.kind === "unbootable") {
      world.rule(worker.state === "booting", "a pool does not give up while a worker is there");
    }
    if (worker.leaving) world.chances += world.limits.size;
    const { state } = worker;
    worker.state = "dead";
    world.living.delete(worker);
    const useless = reason === "crash" && state === "idle" && worker.answered === 0;
    const alone = world.with("booting").length === world.living.size;
    if (alone && (reason === "boot" || useless)) world.failures += 1;
  },

  settle(world, { task: { id }, outcome }, turn) {
    const task = world.tasks.get(id);
    world.rule(task, "only a task that was sent is settled");
    world.rule(task.state !== "settled", "a task is settled exactly once");
    world.rule(Object.hasOwn(OUTCOME_RULES, outcome.kind), "only known outcomes");
    OUTCOME_RULES[outcome.kind](world, task, outcome, turn);
    world.line = world.line.filter((other) => other !== task);
    task.state = "settled";
    task.outcome = outcome;
    world.counts[outcome.kind] += 1;
  },

  progress(world, { id, value }, { event, genuine }) {
    world.rule(
      event.type === "progressed" && genuine && event.id === id && event.value === value,
      "progress is told of a task that runs and is wanted",
    );
  },

  late(world, { worker, id }, { event, genuine, wasCancelled }) {
    world.rule(
      event.type === "answered" && event.worker === worker && event.id === id,
      "only an answer is late",
    );
    world.rule(
      !genuine || (wasCancelled && event.outcome.kind === "done"),
      "an answer that somebody waits for is not late",
    );
    world.counts.late += 1;
  },

  ready(world, { worker }, { event, genuine }) {
    world.rule(
      event.type === "ready" && genuine && event.worker === worker,
      "a worker is ready when it says so for the first time",
    );
  },

  closed(world, { end }, { phase, before, worker }) {
    world.rule(phase !== "closed" && world.phase === "closed", "a pool is closed once");
    world.rule(world.open().length === 0, "a pool is closed after everything is settled");
    world.rule(world.living.size === 0, "a pool is closed after all workers are ended");
    world.end = end;
    if (end.kind !== "unbootable") return;
    const others = before.slots.filter((slot) => slot.worker !== worker?.number);
    world.rule(
      world.failures >= world.limits.bootAttempts ||
        others.every(({ status }) => status === "abandoned" || status === "starting"),
      "a pool gives up after `bootAttempts` in a row, or when every place was given up",
    );
  },
};

/** For each outcome: when a task may end so. */
const OUTCOME_RULES = {
  done: answered,
  failed: answered,

  refused(world, task, outcome, { event }) {
    if (outcome.why === "unsendable") {
      world.rule(
        event.type === "unsendable" && event.id === task.id && event.error === outcome.error,
        "the browser's own error is what a payload is refused with",
      );
    } else if (outcome.why === "unknown") {
      world.rule(!world.known?.includes(task.name), "only an unknown name is refused as such");
      world.rule(
        outcome.task === task.name && isDeepStrictEqual(outcome.known, [...world.known]),
        "a refusal has the name, and those that are known",
      );
    } else {
      world.rule(event.type === "queued" && task.state === "new", "a full queue refuses at once");
      world.rule(isFull(world), "the queue refuses a task at its limit and not before");
      world.rule(
        outcome.queued === world.line.length && outcome.maxQueue === world.limits.maxQueue,
        "a refusal says how full the queue is",
      );
    }
  },

  aborted(world, task, outcome, { event }) {
    const reason =
      event.type === "queued"
        ? event.task.id === task.id && event.aborted?.reason
        : event.type === "aborted" && event.id === task.id && event.reason;
    world.rule(reason === outcome.reason, "an aborted task gets the signal's own reason");
  },

  timedOut(world, task, { limit, ms, ended }, { event, genuine }) {
    const expected = limit === "timeout" ? task.timeout : world.limits.taskTimeout;
    world.rule(ms === expected, "a time-out says which limit it was");
    if (ended === "waiting") {
      world.rule(task.state === "waiting", "`waiting`: the task never started");
      world.rule(
        event.type === "timePassed" && limit === "timeout" && task.deadline <= world.now,
        "no task times out early",
      );
      return;
    }
    world.rule(task.state === "running" && limit === task.limit, "the limit that was over first");
    world.rule(task.worker.cancelled || genuine || event.type === "unsendable", "told to stop");
    world.rule(task.due <= world.now, "no task times out early");
    if (ended === "terminated") {
      world.rule(task.worker.task === task, "`terminated`: the worker has not answered");
    } else {
      world.rule(ended === howEnded(event) && event.id === task.id, "`ended` is what happened");
    }
  },

  crashed(world, task, outcome, { event, worker }) {
    world.rule(
      task.state === "running" && worker?.doomed && worker.task === task && !worker.cancelled,
      "a worker that dies takes its own task with it and no other",
    );
    world.rule(
      outcome.worker === worker.number && outcome.task === task.name,
      "a crash says which worker it was",
    );
    world.rule(event.type === "exited" || outcome.error === event.error, "and what it died of");
  },

  closed(world, task, outcome, { event, phase }) {
    if (event.type === "destroyed") {
      world.rule(outcome.reason === event.reason, "`destroy` has a reason");
    } else {
      world.rule(
        task.state === "new" && phase !== "open",
        "what was accepted is not refused later",
      );
      world.rule(isDeepStrictEqual(outcome, world.end), "a task sent later gets the pool's end");
    }
  },

  unbootable(world, task, outcome, { event, phase, worker }) {
    if (task.state === "new") {
      world.rule(phase === "closed" && outcome === world.end, "a later task gets the same error");
      return;
    }
    world.rule(world.phase === "closed", "no worker boots: the pool is closed");
    world.rule(
      event.type === "timePassed" || worker?.doomed,
      "a pool gives up by the death of a worker",
    );
    world.rule(outcome.attempts === world.limits.bootAttempts, "the error counts the attempts");
  },
};

function answered(world, task, outcome, { event, genuine, wasCancelled }) {
  world.rule(
    event.type === "answered" && genuine && event.id === task.id && outcome === event.outcome,
    "a task ends in the answer of its own worker",
  );
  world.rule(!wasCancelled, "a task that was given up is not settled by its answer");
}

/** How a task that was told to stop ended, seen from the event that ended it. */
function howEnded(event) {
  return event.type === "answered" && event.outcome.kind === "done" ? "finished" : "interrupted";
}

/** Whether a task that comes now finds neither a free worker nor room. */
export function isFull(world) {
  const free = world.with("idle").some((worker) => !worker.leaving);
  return world.line.length >= world.limits.maxQueue && !free;
}
