/**
 * Notices when the browser has let the page stand still, frozen in the background or kept in the
 * back/forward cache: page and workers stop then, and only the clock goes on.
 */
export class Standstill {
  /** @type {number | undefined} */
  #since;
  #end = new AbortController();

  /** @param {(away: number) => void} onResume is told how many milliseconds it took */
  constructor(onResume) {
    if (!globalThis.document) return;
    const { signal } = this.#end;
    const stop = () => {
      this.#since ??= performance.now();
    };
    const resume = () => {
      if (this.#since === undefined) return;
      const away = performance.now() - this.#since;
      this.#since = undefined;
      onResume(away);
    };
    document.addEventListener("freeze", stop, { signal });
    document.addEventListener("resume", resume, { signal });
    addEventListener("pagehide", ({ persisted }) => persisted && stop(), { signal });
    addEventListener("pageshow", ({ persisted }) => persisted && resume(), { signal });
  }

  /** Stops listening. */
  forget() {
    this.#end.abort();
  }
}
