import { say } from "./text.js";

/** A failure that the page itself has words for, in whichever language it is read later. */
export class SayableError extends Error {
  name = "SayableError";

  /** @param {string} key of its sentence */
  constructor(key) {
    super(say(key));
    this.key = key;
  }
}
