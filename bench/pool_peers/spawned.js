/**
 * Every worker that this page starts, in order: who kills one from outside, or counts them, finds
 * them here. To be imported before whatever starts workers.
 */

/** @type {Worker[]} */
export const spawned = [];

globalThis.Worker = class extends Worker {
  /**
   * @param {string | URL} url
   * @param {WorkerOptions} [options]
   */
  constructor(url, options) {
    super(url, options);
    spawned.push(this);
  }
};
