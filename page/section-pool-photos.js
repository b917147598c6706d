import { byId, find } from "./element.js";
import { log } from "./event-log.js";
import { sentenceFor } from "./failure.js";
import { span, whole } from "./numbers.js";
import { samplePhotos } from "./photo.js";
import { runtimeOn } from "./places.js";
import { measureRun } from "./run-measure.js";
import { section } from "./section-pool.js";
import { say, whenSpoken } from "./text.js";
import { showStatus } from "./told.js";

/**
 * @import { FrameMeter } from "./frame-meter.js"
 * @import { PressMeter } from "./press-meter.js"
 * @typedef {"main" | "worker" | "pool"} PhotoPlace
 * @typedef {{total: number, gap: number, pictures: number}} Measured times in milliseconds
 */

const STATUS = "pool-photos-status";
const KNOBS = { method: "loop", max_side: 512 };

/** @type {Partial<Record<PhotoPlace, Measured>>} */
const measured = {};
let busy = false;

whenSpoken(show);

/**
 * Counts all sample pictures in one place, measures the page meanwhile, and shows both.
 *
 * @param {PhotoPlace} place
 * @param {FrameMeter} meter
 * @param {PressMeter} presses
 */
export async function countPhotos(place, meter, presses) {
  if (busy) return;
  setBusy(true);
  try {
    const photos = await samplePhotos();
    const run = await runnerAt(place);
    showStatus(STATUS, () => say("pool.photosRunning", { count: whole(photos.length) }));
    let total = 0;
    const { measure } = await measureRun(meter, presses, async () => {
      const started = performance.now();
      await Promise.all(photos.map(({ bytes }) => run("histogram", { image: bytes, ...KNOBS })));
      total = performance.now() - started;
    });
    measured[place] = { total, gap: measure.longestGap, pictures: photos.length };
    show();
    const sentence = () =>
      say("pool.photosDone", {
        count: whole(photos.length),
        total: span(total),
        gap: span(measure.longestGap),
      });
    showStatus(STATUS, sentence);
    log(sentence, place === "main" ? "main" : "worker", "pool-log");
  } catch (error) {
    showStatus(STATUS, () => sentenceFor(error), true);
  } finally {
    setBusy(false);
  }
}

/**
 * Something that can run tasks there, booted already.
 *
 * @param {PhotoPlace} place
 * @returns {Promise<(task: string, payload: object) => Promise<unknown>>}
 */
async function runnerAt(place) {
  showStatus(STATUS, () => say("pool.photosBooting"));
  if (place !== "pool") {
    const runtime = await runtimeOn(place, () => {});
    return (task, payload) => runtime.run(task, payload, {});
  }
  await section.allReady();
  return (task, payload) => section.run(task, payload);
}

function show() {
  const table = byId("pool-photos", HTMLTableElement);
  for (const [place, { total, gap, pictures }] of Object.entries(measured)) {
    const row = find(table, `[data-place="${place}"]`, HTMLTableRowElement);
    const words = [span(total), span(gap), whole(pictures)];
    row.querySelectorAll("td").forEach((cell, index) => {
      cell.textContent = words[index] ?? "";
    });
    row.dataset.total = String(total);
    row.dataset.gap = String(gap);
  }
}

/** @param {boolean} value */
function setBusy(value) {
  busy = value;
  for (const button of document.querySelectorAll('[data-pool="photos"]')) {
    button.setAttribute("aria-disabled", String(value));
  }
}
