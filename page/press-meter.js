/**
 * Measures input delay: the time from the moment the browser received a press to the moment
 * this thread was free to handle it, in ms. It is what a person feels as "it does not react".
 *
 * @typedef {(delay: number) => void} DelayListener
 */
export class PressMeter {
  /** @type {Set<DelayListener>} */
  #listeners = new Set();

  /** @param {EventTarget} target presses anywhere inside it are measured */
  constructor(target) {
    for (const kind of ["pointerdown", "keydown"]) {
      target.addEventListener(kind, (event) => {
        const delay = Math.max(0, performance.now() - event.timeStamp);
        for (const listener of this.#listeners) listener(delay);
      });
    }
  }

  /**
   * @param {DelayListener} listener
   * @returns {() => void} stop listening
   */
  listen(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
