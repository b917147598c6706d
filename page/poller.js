/**
 * Asks a question again and again, as gently as the situation allows: seldom while the tab is
 * hidden, with growing pauses while the server is away, and never twice at a time.
 */

/** Pauses in ms. */
export const PACE = {
  visible: 1000,
  hidden: 30_000,
  firstRetry: 2000,
  longestRetry: 60_000,
  patience: 2500,
};

/**
 * How long to wait before asking again.
 *
 * @param {{hidden: boolean, failures: number, random: number}} situation `failures` in a row;
 * `random` from 0 to 1
 * @returns {number} ms
 */
export function nextPause({ hidden, failures, random }) {
  const calm = hidden ? PACE.hidden : PACE.visible;
  if (failures === 0) return calm;
  const grown = Math.min(PACE.longestRetry, PACE.firstRetry * 2 ** (failures - 1));
  // Half of the pause is left to chance, so that pages which lost a server together do not
  // come back to it together.
  return Math.max(hidden ? PACE.hidden : 0, grown * (0.5 + random / 2));
}

export class Poller {
  #ask;
  #onAnswer;
  #onFailure;
  #failures = 0;
  #asking = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /**
   * @param {(signal: AbortSignal) => Promise<void>} ask rejects when there is no answer
   * @param {{onAnswer: () => void, onFailure: (error: unknown, failures: number) => void}} listeners
   */
  constructor(ask, { onAnswer, onFailure }) {
    this.#ask = ask;
    this.#onAnswer = onAnswer;
    this.#onFailure = onFailure;
  }

  /** Begins to ask, now. */
  start() {
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) this.askNow();
      else this.#wait();
    });
    this.askNow();
  }

  /** Asks at once instead of at the end of the pause; does nothing while a question is out. */
  async askNow() {
    if (this.#asking) return;
    this.#asking = true;
    clearTimeout(this.#timer);
    try {
      await this.#ask(AbortSignal.timeout(PACE.patience));
      this.#failures = 0;
      this.#onAnswer();
    } catch (error) {
      this.#failures += 1;
      this.#onFailure(error, this.#failures);
    } finally {
      this.#asking = false;
      this.#wait();
    }
  }

  #wait() {
    clearTimeout(this.#timer);
    if (this.#asking) return;
    const pause = nextPause({
      hidden: document.hidden,
      failures: this.#failures,
      random: Math.random(),
    });
    this.#timer = setTimeout(() => this.askNow(), pause);
  }
}
