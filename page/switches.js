import { byId, find } from "./element.js";
import { site } from "./site.js";
import { currentLanguage, say, speak, whenSpoken } from "./text.js";

const THEMES = /** @type {const} */ (["system", "light", "dark"]);

/** Connects the switches for language and theme. */
export function connectSwitches() {
  connectLanguage();
  connectTheme();
}

function connectLanguage() {
  const link = byId("language-switch", HTMLAnchorElement);
  const icon = find(document, "link[rel=icon]", HTMLLinkElement);
  link.addEventListener("click", async (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const wanted = currentLanguage() === "de" ? "en" : "de";
    remember("language", wanted);
    try {
      await speak(wanted);
    } catch {
      // Without its words the other language is still there as a page of its own.
      location.assign(link.href);
      return;
    }
    // The address of the page changes below it; its icon is to stay the one it has.
    icon.setAttribute("href", icon.href);
    history.replaceState(
      null,
      "",
      new URL((wanted === "de" ? "./" : "en/") + location.hash, site.root),
    );
  });
  whenSpoken(() => {
    link.href = new URL(currentLanguage() === "de" ? "en/" : "./", site.root).href;
  });
}

function connectTheme() {
  const button = byId("theme-switch", HTMLButtonElement);
  const root = document.documentElement;
  const current = () => THEMES.find((theme) => theme === root.dataset.theme) ?? "system";
  const label = () => {
    button.textContent = say(`theme.${current()}`);
    button.setAttribute("aria-label", say("theme.label", { theme: say(`theme.${current()}`) }));
  };
  button.addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(current()) + 1) % THEMES.length] ?? "system";
    if (next === "system") delete root.dataset.theme;
    else root.dataset.theme = next;
    remember("theme", next);
    label();
  });
  whenSpoken(label);
}

/**
 * @param {string} key
 * @param {string} value
 */
function remember(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // Storage may be refused; the choice then holds for this visit.
  }
}
