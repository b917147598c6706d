/**
 * What each subject of the comparison looks like to the measurements and checks.
 *
 * @typedef {object} Options
 * @property {number} workers how many workers
 * @property {number} [maxQueue] how many tasks may wait
 * @property {string} [script] the worker's script, relative to the page, instead of the usual one
 * @property {number} [bootTimeout] milliseconds until a worker that does not start is given up
 *
 * @typedef {object} RunOptions
 * @property {Transferable[]} [transfer]
 * @property {AbortSignal} [signal] aborts the task, where the subject can do so
 *
 * @typedef {object} Subject
 * @property {(task: string, payload?: unknown, options?: RunOptions) => PromiseLike<unknown>} run
 * @property {() => unknown} destroy ends the workers at once
 *
 * @typedef {"bounded queue" | "cancel waiting" | "cancel running"} Offer
 *
 * @typedef {object} Adapter
 * @property {Offer[]} offers what the subject's documentation has; all the rest is expected of each
 * @property {(options: Options) => Subject} create
 */

export {};
