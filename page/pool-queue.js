/** @import { Task } from "./pool-state.js" */

/** Places that a queue may waste in front of its first task before it is copied. */
const WASTE = 64;

/**
 * The tasks that wait, in the order in which they will start. A queue never changes: what adds or
 * takes away a task gives another queue. They share their memory, so that both ends cost the same
 * for one task as for ten thousand.
 */
export class TaskQueue {
  /** Shared by the queues that came from each other; only ever appended to. */
  #tasks;
  #from;
  #to;

  /**
   * @param {Task[]} [tasks] in order; the queue's own from now on
   * @param {number} [from] where its first task lies there
   * @param {number} [soonest] the earliest deadline from there on
   */
  constructor(tasks = [], from = 0, soonest = earliest(tasks, from)) {
    this.#tasks = tasks;
    this.#from = from;
    this.#to = tasks.length;
    /** The earliest deadline of a task in it; Infinity when none has one. */
    this.soonest = soonest;
  }

  get length() {
    return this.#to - this.#from;
  }

  /** @returns {Task | undefined} the task that will start next */
  get first() {
    return this.length > 0 ? this.#tasks[this.#from] : undefined;
  }

  *[Symbol.iterator]() {
    for (let at = this.#from; at < this.#to; at += 1) yield this.#tasks[at];
  }

  /**
   * @param {Task} task
   * @returns {TaskQueue} with the task behind all that are as urgent, which keeps the order in which
   *   they came
   */
  with(task) {
    let at = this.#to;
    while (at > this.#from && this.#tasks[at - 1].priority < task.priority) at -= 1;
    const soonest = Math.min(this.soonest, task.deadline);
    if (at === this.#tasks.length && (this.#from < WASTE || this.#from < this.length)) {
      this.#tasks.push(task);
      return new TaskQueue(this.#tasks, this.#from, soonest);
    }
    const ahead = this.#tasks.slice(this.#from, at);
    return new TaskQueue(ahead.concat([task], this.#tasks.slice(at, this.#to)), 0, soonest);
  }

  /**
   * @param {Task} task one that is in it
   * @returns {TaskQueue} without that one
   */
  without(task) {
    if (this.length === 1) return new TaskQueue();
    const soonest =
      task.deadline > this.soonest || task.deadline === NEVER ? this.soonest : undefined;
    if (task === this.first && this.#to === this.#tasks.length) {
      return new TaskQueue(this.#tasks, this.#from + 1, soonest);
    }
    const at = this.#tasks.indexOf(task, this.#from);
    const ahead = this.#tasks.slice(this.#from, at);
    return new TaskQueue(ahead.concat(this.#tasks.slice(at + 1, this.#to)), 0, soonest);
  }

  /**
   * @param {number} id
   * @returns {Task | undefined}
   */
  find(id) {
    for (let at = this.#from; at < this.#to; at += 1) {
      if (this.#tasks[at].id === id) return this.#tasks[at];
    }
    return undefined;
  }
}

const NEVER = Number.POSITIVE_INFINITY;

/**
 * @param {readonly Task[]} tasks
 * @param {number} from
 * @returns {number}
 */
function earliest(tasks, from) {
  let soonest = NEVER;
  for (let at = from; at < tasks.length; at += 1) soonest = Math.min(soonest, tasks[at].deadline);
  return soonest;
}
