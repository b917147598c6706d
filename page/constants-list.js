import { byId } from "./element.js";

/**
 * Fills a list of constants.
 *
 * @param {string} id of the description list
 * @param {[name: string, value: string][]} constants in the reader's language
 */
export function showConstants(id, constants) {
  byId(id, HTMLElement).replaceChildren(
    ...constants.map(([name, value]) => {
      const pair = document.createElement("div");
      const term = document.createElement("dt");
      const text = document.createElement("dd");
      term.textContent = name;
      text.textContent = value;
      pair.append(term, text);
      return pair;
    }),
  );
}
