import { byId } from "./element.js";
import { whole } from "./numbers.js";
import { Poller } from "./poller.js";
import { site } from "./site.js";
import { say, whenSpoken } from "./text.js";
import { showStatus } from "./told.js";
import { whenNear } from "./when-near.js";

/**
 * The queue section: asks for the depth, shows it, and says so when nobody answers.
 *
 * @import { Depth, Policy } from "./queue-figure.js"
 */

const STATUS = "enqueue-status";

/** @type {Depth | undefined} */
let depth;
/** @type {Policy | undefined} */
let policy;
let absent = false;
/** @type {typeof import("./queue-figure.js") | undefined} */
let figure;
/** @type {typeof import("./section-lab.js").lab | undefined} */
let lab;
let labWanted = false;
/** @type {typeof import("./section-jobs.js").jobs | undefined} */
let jobs;

/** Begins to poll, and connects the buttons. */
export function connectQueue() {
  const poller = new Poller(ask, {
    onAnswer: () => setPresent(true),
    onFailure: () => setPresent(false),
  });
  for (const button of document.querySelectorAll("button[data-enqueue]")) {
    if (!(button instanceof HTMLButtonElement)) continue;
    button.addEventListener("click", async () => {
      await enqueue(Number(button.dataset.enqueue));
      poller.askNow();
    });
  }
  whenSpoken(show);
  poller.start();
}

/** @param {AbortSignal} signal */
async function ask(signal) {
  policy ??= await getJson("queue/policy", signal);
  // Where no server answers, the figure is not needed.
  figure ??= await import("./queue-figure.js");
  // The browser revalidates with the ETag of the answer that it has.
  depth = await getJson("queue/depth", signal);
  show();
}

/**
 * @param {string} path
 * @param {AbortSignal} signal
 */
async function getJson(path, signal) {
  return jsonOf(await fetch(new URL(path, site.api), { signal }));
}

/**
 * @param {Response} response
 * @throws {Error} when it is no JSON answer of the server (a static host may answer 404, or send
 * a page of its own with 200)
 */
async function jsonOf(response) {
  if (!response.ok || !response.headers.get("Content-Type")?.includes("json")) {
    throw new Error(`No answer from the queue (${response.status})`);
  }
  return response.json();
}

/** @param {boolean} present whether a server answers */
function setPresent(present) {
  byId("queue-live", HTMLElement).hidden = !present;
  byId("queue-absent", HTMLElement).hidden = present;
  absent = !present;
  byId("jobs-live", HTMLElement).hidden = !present;
  byId("jobs-absent", HTMLElement).hidden = present;
  lab?.setPresent(present);
  jobs?.setPresent(present);
  if (present && !labWanted) {
    labWanted = true;
    whenNear(byId("worker-b", HTMLElement), openLab);
    whenNear(byId("jobs", HTMLElement), openJobs);
  }
  show();
}

/** Where the server has no lab, or not for this reader, a sentence stands in its place. */
async function openLab() {
  try {
    if (!policy?.lab) throw new Error("This server has no lab");
    const section = await import("./section-lab.js");
    await section.lab.open();
    lab = section.lab;
    lab.setPresent(!absent);
  } catch {
    byId("lab-absent", HTMLElement).hidden = false;
  }
}

async function openJobs() {
  try {
    ({ jobs } = await import("./section-jobs.js"));
    jobs.open();
    jobs.setPresent(!absent);
  } catch {
    showStatus("jobs-status", () => say("page.partMissing"), true);
  }
}

function show() {
  if (depth) figure?.showDepth(depth);
  if (policy) figure?.showPolicy(policy);
  if (!absent) return;
  const mode = byId("queue-mode", HTMLElement);
  mode.dataset.mode = "absent";
  mode.textContent = say("queue.mode.absent");
}

/** @param {number} count deliveries to put into the queue */
async function enqueue(count) {
  const response = await fetch(new URL("deliveries", site.api), {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({
      channel: "page",
      recipient: "page",
      payload: { text: say("queue.demoText") },
      count,
    }),
  }).catch(() => undefined);
  if (response?.ok) {
    showStatus(STATUS, () => say("queue.enqueued", { count: whole(count) }));
  } else {
    const problem = await response?.json().catch(() => undefined);
    showStatus(STATUS, () =>
      say("queue.refused", { reason: problem?.detail ?? say("queue.noAnswer") }),
    );
  }
}
