import { announce } from "./announcer.js";
import { byId, find } from "./element.js";
import { sentenceFor } from "./failure.js";
import { FittedFigure } from "./fitted-figure.js";
import { median } from "./frame-meter.js";
import { size, span, times } from "./numbers.js";
import { SayableError } from "./sayable-error.js";
import { svg } from "./svg.js";
import { say, whenSpoken } from "./text.js";
import { tell } from "./told.js";

/**
 * Copying a buffer to another thread against handing it over, measured on this device.
 *
 * @typedef {{megabytes: number, copied: number, transferred: number, left: number}} Measured
 * times in ms (medians), `left` in bytes of the sender's buffer after the transfer
 * @typedef {{megabytes: number, skipped: string}} Skipped
 */

const MEGABYTE = 1_000_000;
const SIZES_MB = [1, 4, 16, 64, 256];
const ROUNDS = 5;
/** A copy needs the buffer twice; a device that says it has little memory is not driven to its end. */
const MOST_SHARE_OF_MEMORY = 1 / 8;

/** Space for a size before its bars, and height of a size's two bars, in CSS pixels. */
const LABEL_WIDTH = 76;
const ROW = 40;

/** @type {(Measured | Skipped)[]} */
let outcome = [];

whenSpoken(show);

/** Measures every size and shows the result; does nothing while a measurement is under way. */
export async function compareTransfer() {
  const button = byId("transfer-run", HTMLButtonElement);
  if (button.getAttribute("aria-disabled") === "true") return;
  button.setAttribute("aria-disabled", "true");
  try {
    await measureAll();
  } catch (error) {
    tell(byId("transfer-status", HTMLElement), () => sentenceFor(error));
  } finally {
    button.setAttribute("aria-disabled", "false");
  }
}

async function measureAll() {
  const worker = new Worker(new URL("./transfer-worker.js", import.meta.url), { type: "module" });
  outcome = [];
  try {
    // The first message waits for the worker to start; it belongs to no measurement.
    await journey(worker, new ArrayBuffer(8), false);
    for (const megabytes of SIZES_MB) {
      tell(byId("transfer-status", HTMLElement), () =>
        say("transfer.measuring", { size: size(megabytes * MEGABYTE) }),
      );
      outcome.push(await measureSize(worker, megabytes));
      show();
    }
  } finally {
    worker.terminate();
  }
  tell(byId("transfer-status", HTMLElement), () => "");
  announce(summary);
}

/**
 * @param {Worker} worker
 * @param {number} megabytes
 * @returns {Promise<Measured | Skipped>}
 */
async function measureSize(worker, megabytes) {
  const memory = /** @type {{deviceMemory?: number}} */ (navigator).deviceMemory ?? 8;
  if (megabytes * MEGABYTE > memory * 2 ** 30 * MOST_SHARE_OF_MEMORY) {
    return { megabytes, skipped: "transfer.skippedMemory" };
  }
  const copied = [];
  const transferred = [];
  let left = -1;
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      // Filled, or the system would not have given it any memory yet.
      const buffer = new Uint8Array(megabytes * MEGABYTE).fill(round + 1).buffer;
      copied.push(await journey(worker, buffer, false));
      transferred.push(await journey(worker, buffer, true));
      left = buffer.byteLength;
    }
  } catch (error) {
    if (error instanceof RangeError || error instanceof DOMException) {
      return { megabytes, skipped: "transfer.skippedRefused" };
    }
    throw error;
  }
  return { megabytes, copied: median(copied), transferred: median(transferred), left };
}

/**
 * Sends a buffer and waits for the answer.
 *
 * @param {Worker} worker
 * @param {ArrayBuffer} buffer
 * @param {boolean} transfer
 * @returns {Promise<number>} ms
 */
function journey(worker, buffer, transfer) {
  return new Promise((resolve, reject) => {
    const started = performance.now();
    worker.onmessage = () => resolve(performance.now() - started);
    worker.onerror = () => reject(new SayableError("transfer.broken"));
    worker.onmessageerror = () => reject(new SayableError("transfer.broken"));
    worker.postMessage(buffer, transfer ? [buffer] : []);
  });
}

function show() {
  const table = byId("transfer-table", HTMLTableElement);
  for (const entry of outcome) {
    const row = find(table, `[data-size="${entry.megabytes}"]`, HTMLTableRowElement);
    const cells = [...row.querySelectorAll("td")];
    const words =
      "skipped" in entry
        ? [say(entry.skipped), "–", "–", "–"]
        : [
            span(entry.copied),
            span(entry.transferred),
            say("transfer.times", { ratio: times(entry.copied / entry.transferred) }),
            say("transfer.leftBytes", { bytes: entry.left }),
          ];
    cells.forEach((cell, index) => {
      cell.textContent = words[index] ?? "";
    });
    if (!("skipped" in entry)) {
      row.dataset.copied = String(entry.copied);
      row.dataset.transferred = String(entry.transferred);
      row.dataset.left = String(entry.left);
    }
  }
  const measured = measuredOnly();
  drawBars(measured);
  byId("transfer-summary", HTMLElement).textContent = summary();
}

/** @returns {string} what the largest size that could be measured shows */
function summary() {
  const last = measuredOnly().at(-1);
  if (!last) return "";
  return say("transfer.summary", {
    size: size(last.megabytes * MEGABYTE),
    copied: span(last.copied),
    transferred: span(last.transferred),
  });
}

/** @type {FittedFigure | undefined} */
let figure;

/** @param {Measured[]} measured */
function drawBars(measured) {
  if (measured.length === 0) return;
  const element = byId("transfer-bars", SVGSVGElement);
  element.removeAttribute("hidden");
  figure ??= new FittedFigure(element, barsAt);
  figure.redraw();
}

/** @param {number} width CSS pixels */
function barsAt(width) {
  const measured = measuredOnly();
  const longest = Math.max(...measured.map(({ copied }) => copied), 1);
  const room = width - LABEL_WIDTH;
  // Logarithmic from 0.01 ms: the two ways differ by a factor of hundreds.
  const length = (/** @type {number} */ ms) =>
    Math.max(2, (Math.log(Math.max(ms, 0.011) / 0.01) / Math.log(longest / 0.01)) * room);
  const parts = measured.flatMap(({ megabytes, copied, transferred }, index) => {
    const top = 4 + index * ROW;
    const x = LABEL_WIDTH;
    return [
      svg("text", { class: "bar-label", x: 0, y: top + 18 }, size(megabytes * MEGABYTE)),
      svg("rect", { class: "bar-copied", x, y: top, width: length(copied).toFixed(1), height: 12 }),
      svg("rect", {
        class: "bar-transferred",
        x,
        y: top + 14,
        width: length(transferred).toFixed(1),
        height: 12,
      }),
    ];
  });
  return { height: measured.length * ROW, parts };
}

/** @returns {Measured[]} */
function measuredOnly() {
  return outcome.flatMap((entry) => ("skipped" in entry ? [] : [entry]));
}
