import { announce } from "./announcer.js";
import { byId } from "./element.js";
import { whenSpoken } from "./text.js";

/**
 * Sentences that stand on the page until others take their place: what happens, and what just
 * happened. Each is kept as a function and not as a text, so that after a change of language it is
 * told again in the other one.
 *
 * @typedef {() => string} Sentence
 */

/** @type {WeakMap<Element, Sentence>} */
const sentences = new WeakMap();
const TOLD = "data-told";

whenSpoken(() => {
  for (const element of document.querySelectorAll(`[${TOLD}]`)) {
    const sentence = sentences.get(element);
    if (sentence) element.textContent = sentence();
  }
});

/**
 * Puts a sentence into an element, now and in every language that is chosen later.
 *
 * @param {Element} element
 * @param {Sentence} sentence
 */
export function tell(element, sentence) {
  sentences.set(element, sentence);
  element.setAttribute(TOLD, "");
  element.textContent = sentence();
}

/**
 * Puts a sentence into a section's line for what is going on there, and says it aloud.
 *
 * @param {string} id of the line
 * @param {Sentence} sentence
 * @param {boolean} [failed] whether it tells of a failure
 */
export function showStatus(id, sentence, failed = false) {
  const line = byId(id, HTMLElement);
  tell(line, sentence);
  line.classList.toggle("failed", failed);
  announce(sentence);
}
