import { site } from "./site.js";

/**
 * All words that scripts put on the page, in the language in which it is being read, and the
 * switch between the two languages in place: nothing is loaded again, so photo, results and the
 * place on the page stay.
 *
 * @typedef {"de" | "en"} Language
 * @typedef {Record<string, string>} Words
 * @typedef {Record<string, string | number>} Values
 */

/** @type {Language} */
let language = document.documentElement.lang === "en" ? "en" : "de";
/** @type {Map<string, Promise<Words>>} */
const loading = new Map();
/** @type {Words} */
let words = {};
/** Whether the words of the sections that come later are wanted as well. */
let later = false;
/** @type {Set<() => void>} */
const listeners = new Set();

/**
 * @param {Language | `${Language}-page` | `${Language}-later`} name what scripts say from the first
 * view on, what stands on the page, or what sections say that come later
 * @returns {Promise<Words>}
 */
function load(name) {
  const known = loading.get(name);
  if (known) return known;
  const promise = fetch(new URL(`text/${name}.json`, site.assets)).then((response) => {
    if (!response.ok)
      throw new Error(`The words of this page could not be loaded (${response.status})`);
    return response.json();
  });
  loading.set(name, promise);
  promise.catch(() => loading.delete(name));
  return promise;
}

/** Loads what scripts say in the language in which the page was served. */
export async function loadWords() {
  words = await load(language);
}

/** Loads what the sections say that are not there in the first view, from now on in any language. */
export async function loadLaterWords() {
  later = true;
  const wanted = language;
  const more = await load(`${wanted}-later`);
  // Otherwise the change of language has brought them along.
  if (wanted === language) words = { ...words, ...more };
}

/** @returns {Language} */
export function currentLanguage() {
  return language;
}

/**
 * The words for a key, with `{name}` filled from `values`.
 *
 * @param {string} key
 * @param {Values} [values]
 * @returns {string} the key itself when there are no words for it, so that a gap is seen
 */
export function say(key, values = {}) {
  const sentence = words[key] ?? onPage(key) ?? key;
  return sentence.replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));
}

/**
 * @param {string} key
 * @returns {string | undefined} the words with which an element of the page was served
 */
function onPage(key) {
  return document.querySelector(`[data-t="${key}"]`)?.textContent ?? undefined;
}

/**
 * Whether scripts have words for a key.
 *
 * @param {string} key
 */
export function canSay(key) {
  return key in words;
}

/**
 * Runs `listener` now and after each change of language: for text that depends on results.
 *
 * @param {() => void} listener
 */
export function whenSpoken(listener) {
  listeners.add(listener);
  listener();
}

/**
 * Puts the whole page into another language, in place.
 *
 * @param {Language} wanted
 * @throws {Error} when its words cannot be loaded; the page then stays as it is
 */
export async function speak(wanted) {
  const [said, written] = await Promise.all([load(wanted), load(`${wanted}-page`)]);
  const more = later ? await load(`${wanted}-later`) : {};
  words = { ...written, ...said, ...more };
  language = wanted;
  document.documentElement.lang = wanted;
  for (const element of document.querySelectorAll("*")) translate(element);
  for (const listener of listeners) listener();
}

/** @param {Element} element */
function translate(element) {
  for (const { name, value } of [...element.attributes]) {
    if (name === "data-t") element.innerHTML = say(value);
    else if (name.startsWith("data-t-"))
      element.setAttribute(name.slice("data-t-".length), say(value));
  }
}
