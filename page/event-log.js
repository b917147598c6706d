import { byId } from "./element.js";
import { currentLanguage } from "./text.js";

const MOST = 8;

/**
 * Writes a line into the log of what just happened, newest first.
 *
 * @param {string} sentence
 * @param {"main" | "worker" | "page"} source whose sign the line carries
 */
export function log(sentence, source) {
  const list = byId("event-log", HTMLElement);
  const line = document.createElement("li");
  line.className = `from-${source}`;
  const time = document.createElement("time");
  time.textContent = new Date().toLocaleTimeString(currentLanguage());
  line.append(time, ` ${sentence}`);
  list.prepend(line);
  while (list.children.length > MOST) list.lastElementChild?.remove();
}
