import { byId } from "./element.js";
import { currentLanguage } from "./text.js";
import { tell } from "./told.js";

const MOST = 8;

/**
 * Writes a line into the log of what just happened, newest first.
 *
 * @param {() => string} sentence
 * @param {"main" | "worker" | "page"} source whose sign the line carries
 * @param {string} [list] id of the log
 */
export function log(sentence, source, list = "event-log") {
  const lines = byId(list, HTMLElement);
  const line = document.createElement("li");
  line.className = `from-${source}`;
  const now = new Date();
  const time = document.createElement("time");
  tell(time, () => now.toLocaleTimeString(currentLanguage()));
  const words = document.createElement("span");
  tell(words, sentence);
  line.append(time, " ", words);
  lines.prepend(line);
  while (lines.children.length > MOST) lines.lastElementChild?.remove();
}
