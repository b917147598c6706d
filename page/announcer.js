import { byId } from "./element.js";
import { whenSpoken } from "./text.js";

/** A screen reader that is spoken to more often than this can say nothing else. */
const QUIET_MS = 2000;

let last = -QUIET_MS;
/** @type {(() => string) | undefined} */
let waiting;

// What was said stays unsaid in the other language: nothing new has happened.
whenSpoken(() => {
  byId("announcer", HTMLElement).textContent = "";
});

/**
 * Says a sentence to screen readers, at most every two seconds; of what comes faster the last
 * one is said.
 *
 * @param {() => string} sentence
 */
export function announce(sentence) {
  const pending = waiting !== undefined;
  waiting = sentence;
  if (pending) return;
  setTimeout(
    () => {
      last = performance.now();
      byId("announcer", HTMLElement).textContent = waiting?.() ?? "";
      waiting = undefined;
    },
    Math.max(0, last + QUIET_MS - performance.now()),
  );
}
