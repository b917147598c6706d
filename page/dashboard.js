/**
 * The dashboard's one script. Its pages are complete without it; with it they stay true: when the
 * server says that figures have changed, the page is fetched again and what differs is put in
 * place, so every word and number is made in one place, on the server.
 */

const root = document.documentElement;
const main = /** @type {HTMLElement} */ (document.getElementById("main"));
const THEMES = /** @type {const} */ (["system", "light", "dark"]);
const REST_MS = 1000;

const moments = new Intl.DateTimeFormat(root.lang, { dateStyle: "short", timeStyle: "medium" });

/**
 * Says every instant in the reader's own time zone; the server writes UTC.
 *
 * @param {ParentNode} part
 */
function localise(part) {
  for (const time of part.querySelectorAll("time[datetime]")) {
    time.textContent = moments.format(new Date(time.getAttribute("datetime") ?? ""));
  }
}

/**
 * Puts what has changed of the regions in place.
 *
 * @param {Document} fresh
 */
function renew(fresh) {
  localise(fresh);
  for (const region of main.querySelectorAll("[data-region]")) {
    const next = fresh.getElementById(region.id);
    if (next) morph(region, next);
  }
}

/**
 * Makes an element like another one. Nodes that have a counterpart stay, so that focus and an open
 * disclosure do; where their number differs they are exchanged, unless somebody is in there.
 *
 * @param {Element} old
 * @param {Element} next
 */
function morph(old, next) {
  if (old.isEqualNode(next)) return;
  for (const { name, value } of next.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  const olds = [...old.childNodes];
  const nexts = [...next.childNodes];
  const alike =
    olds.length === nexts.length && olds.every((node, at) => node.nodeName === nexts[at]?.nodeName);
  if (!alike) {
    if (!old.contains(document.activeElement)) old.replaceChildren(...nexts);
    return;
  }
  for (const [at, node] of olds.entries()) {
    const counterpart = nexts[at];
    if (node instanceof Element && counterpart instanceof Element) morph(node, counterpart);
    else if (counterpart && node.nodeValue !== counterpart.nodeValue)
      node.nodeValue = counterpart.nodeValue;
  }
}

/** Keeps the page as the server's figures are, until it is paused or out of sight. */
class Live {
  /** @type {EventSource | null} */
  #source = null;
  #paused = false;
  #wanted = false;
  #fetching = false;

  /**
   * @param {string} events where the server says that something has changed
   * @param {HTMLButtonElement} button
   * @param {HTMLElement} status
   */
  constructor(events, button, status) {
    this.events = events;
    this.button = button;
    this.status = status;
    button.addEventListener("click", () => {
      this.#paused = !this.#paused;
      button.textContent = (this.#paused ? button.dataset.off : button.dataset.on) ?? "";
      this.follow();
    });
    document.addEventListener("visibilitychange", () => this.follow());
    addEventListener("pagehide", () => this.#stop());
    addEventListener("pageshow", () => this.follow());
    this.follow();
  }

  /** Watches exactly if it is neither paused nor hidden. */
  follow() {
    if (this.#paused || document.hidden) this.#stop();
    else if (!this.#source) this.#start();
  }

  #start() {
    const source = new EventSource(this.events);
    source.addEventListener("figures", () => this.#renewSoon());
    source.addEventListener("open", () => this.#say(""));
    source.addEventListener("error", () => this.#say(this.status.dataset.away ?? ""));
    this.#source = source;
  }

  #stop() {
    this.#source?.close();
    this.#source = null;
    this.#say("");
  }

  /** @param {string} words */
  #say(words) {
    if (this.status.textContent !== words) this.status.textContent = words;
  }

  /** Fetches the page once more: never twice at a time, and with a rest in between. */
  async #renewSoon() {
    this.#wanted = true;
    if (this.#fetching) return;
    this.#fetching = true;
    while (this.#wanted && this.#source) {
      this.#wanted = false;
      try {
        const response = await fetch(location.href);
        if (response.ok) {
          const text = await response.text();
          renew(new DOMParser().parseFromString(text, "text/html"));
          root.dataset.renewed = String(Number(root.dataset.renewed ?? 0) + 1);
        }
      } catch {
        // The stream notices that the server is away, says so, and comes back with it.
      }
      await new Promise((resolve) => setTimeout(resolve, REST_MS));
    }
    this.#fetching = false;
  }
}

function connectTheme() {
  const button = document.getElementById("theme-switch");
  button?.addEventListener("click", () => {
    const current = THEMES.find((theme) => theme === root.dataset.theme) ?? "system";
    const next = THEMES[(THEMES.indexOf(current) + 1) % THEMES.length] ?? "system";
    if (next === "system") delete root.dataset.theme;
    else root.dataset.theme = next;
    try {
      localStorage.setItem("theme", next);
    } catch {
      // Storage may be refused; the choice then holds for this visit.
    }
  });
}

localise(document);
connectTheme();
const pause = document.getElementById("live");
const away = document.getElementById("live-status");
if (pause instanceof HTMLButtonElement && away) {
  new Live(document.body.dataset.events ?? "", pause, away);
}
