import { site } from "./site.js";

/**
 * What happens in the queue, heard from the server as it happens. While nobody looks it can be
 * closed; it goes on where it was, as far as the server still knows.
 *
 * @import { Change, Held } from "./section-lab-state.js"
 */

/** Milliseconds before one that was refused is tried again; a lost one comes back by itself. */
const PAUSE = 10_000;

export class LabStream {
  #listeners;
  /** @type {EventSource | undefined} */
  #source;
  #cursor = "";
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #again;

  /**
   * @param {{onReset: (held: Held[]) => void, onChanges: (changes: Change[]) => void,
   *   onState: (listening: boolean) => void}} listeners
   */
  constructor(listeners) {
    this.#listeners = listeners;
  }

  /** Begins to listen, or does nothing if it does already. */
  open() {
    if (this.#source) return;
    clearTimeout(this.#again);
    const url = new URL("queue/events", site.api);
    if (this.#cursor) url.searchParams.set("after", this.#cursor);
    const source = new EventSource(url);
    this.#source = source;
    source.addEventListener("open", () => this.#listeners.onState(true));
    source.addEventListener("reset", (event) => {
      this.#cursor = event.lastEventId;
      this.#listeners.onReset(JSON.parse(event.data).held);
    });
    source.addEventListener("changes", (event) => {
      this.#cursor = event.lastEventId;
      this.#listeners.onChanges(JSON.parse(event.data).changes);
    });
    source.addEventListener("error", () => {
      this.#listeners.onState(false);
      if (source.readyState !== EventSource.CLOSED || this.#source !== source) return;
      this.#source = undefined;
      this.#again = setTimeout(() => this.open(), PAUSE);
    });
  }

  /** Listens no more. */
  close() {
    clearTimeout(this.#again);
    this.#source?.close();
    this.#source = undefined;
  }
}
