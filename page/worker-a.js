import { byId, find } from "./element.js";
import { log } from "./event-log.js";
import { totalMs } from "./histogram-result.js";
import { size, span } from "./numbers.js";
import { calledName, connectPhotoPicker, currentPhoto, whenPhotoChanges } from "./photo.js";
import { showPreview } from "./photo-preview.js";
import { runtimeOn } from "./places.js";
import { measureRun } from "./run-measure.js";
import { canSay, say, whenSpoken } from "./text.js";
import { showStatus, tell } from "./told.js";

/**
 * @import { FrameMeter } from "./frame-meter.js"
 * @import { HistogramResult } from "./histogram-result.js"
 * @import { Photo } from "./photo.js"
 * @import { Place } from "./places.js"
 * @import { PressMeter } from "./press-meter.js"
 * @import { Stage } from "./protocol.js"
 * @import { RunMeasure } from "./run-measure.js"
 * @import { Runtime } from "./runtime.js"
 * @import { Run } from "./comparison.js"
 */

export class WorkerA {
  #meter;
  #presses;
  #onRun;
  /** @type {Partial<Record<Place, Run>>} */
  #runs = {};
  /** @type {HistogramResult | undefined} */
  #shown;
  #busy = false;

  /**
   * @param {FrameMeter} meter
   * @param {PressMeter} presses
   * @param {(measure: RunMeasure) => void} onRun called after each run
   */
  constructor(meter, presses, onRun) {
    this.#meter = meter;
    this.#presses = presses;
    this.#onRun = onRun;
  }

  /** Connects photo, knobs and buttons. */
  connect() {
    whenPhotoChanges((photo) => this.#showPhoto(photo));
    connectPhotoPicker((error) => this.#fail(error));
    for (const button of runButtons()) {
      button.addEventListener("click", () => this.#count(placeOf(button)));
    }
    whenSpoken(() => this.#show());
  }

  /** @param {Place} place */
  async #count(place) {
    if (this.#busy) return;
    this.#setBusy(true);
    try {
      const photo = await currentPhoto();
      const runtime = await runtimeOn(place, (stage) => showBoot(place, stage));
      byId("boot-progress", HTMLElement).hidden = true;
      showStatus("run-status", () => say(`status.running.${place}`));
      const { result, measure } = await measureRun(this.#meter, this.#presses, () =>
        this.#histogram(runtime, photo),
      );
      this.#onRun(measure);
      this.#runs[place] = {
        result,
        measure,
        bootMs: runtime.boot.ms,
        photo: photo.name,
        bytes: photo.bytes.length,
        maxSide: chosenSide(),
      };
      this.#shown = result;
      await this.#show();
      const sentence = () =>
        say(`status.done.${place}`, {
          total: span(totalMs(result)),
          gap: span(measure.longestGap),
        });
      showStatus("run-status", sentence);
      log(sentence, place);
    } catch (error) {
      await this.#fail(error);
    } finally {
      byId("boot-progress", HTMLElement).hidden = true;
      this.#setBusy(false);
    }
  }

  /**
   * @param {Runtime} runtime
   * @param {Photo} photo
   * @returns {Promise<HistogramResult>}
   * @throws {import("./protocol.js").TaskError} when the picture cannot be counted
   */
  async #histogram(runtime, photo) {
    const knobs = { method: chosenMethod(), max_side: chosenSide() };
    try {
      return histogramResult(await runtime.run("histogram", { image: photo.bytes, ...knobs }));
    } catch (error) {
      const { details } = /** @type {{details?: Record<string, unknown>}} */ (error);
      if (!details?.browser_may_decode) throw error;
      const { decodeInBrowser } = await decoder();
      const pixels = await decodeInBrowser(photo.bytes);
      if (!pixels) throw error;
      log(() => say("log.browserDecoded", { format: String(details.format) }), "page");
      const payload = {
        ...pixels,
        format: details.format,
        bytes: photo.bytes.length,
      };
      return histogramResult(await runtime.run("histogram", { ...payload, ...knobs }));
    }
  }

  async #show() {
    if (!this.#shown) return;
    const [{ drawComparison }, { drawHistogram, drawPalette }] = await figures();
    drawComparison(this.#runs);
    byId("result", HTMLElement).hidden = false;
    drawHistogram(this.#shown);
    drawPalette(this.#shown);
    const notes = this.#shown.image.notes.filter((note) => canSay(`note.${note}`));
    byId("image-notes", HTMLElement).replaceChildren(
      ...notes.map((note) => {
        const line = document.createElement("li");
        line.textContent = say(`note.${note}`);
        return line;
      }),
    );
  }

  /** @param {Photo} photo */
  async #showPhoto(photo) {
    const { name, bytes } = photo;
    tell(byId("photo-name", HTMLElement), () => `${calledName(name)}, ${size(bytes.length)}`);
    const { bitmapOf } = await decoder();
    const bitmap = await bitmapOf(bytes);
    // Decoding takes a while, and another picture may have been chosen meanwhile.
    if (photo === (await currentPhoto())) showPreview(bitmap);
    bitmap?.close();
  }

  /** @param {unknown} error */
  async #fail(error) {
    const sentence = await import("./failure.js").then(
      ({ sentenceFor }) =>
        () =>
          sentenceFor(error),
      () => () => String(error),
    );
    showStatus("run-status", sentence, true);
    log(sentence, "page");
  }

  /** @param {boolean} busy */
  #setBusy(busy) {
    this.#busy = busy;
    for (const button of runButtons()) button.setAttribute("aria-disabled", String(busy));
  }
}

// What the first view does not need does not weigh on it either.
const decoder = () => import("./browser-decode.js");
const figures = () => Promise.all([import("./comparison.js"), import("./histogram-figure.js")]);

/** @returns {HTMLButtonElement[]} */
function runButtons() {
  return [...document.querySelectorAll("button[data-run]")].filter(
    (button) => button instanceof HTMLButtonElement,
  );
}

/**
 * @param {HTMLButtonElement} button
 * @returns {Place}
 */
const placeOf = (button) => (button.dataset.run === "main" ? "main" : "worker");

const chosenMethod = () => find(document, "input[name=method]:checked", HTMLInputElement).value;
const chosenSide = () => Number(byId("max-side", HTMLSelectElement).value);

/**
 * @param {unknown} value what the task returned
 * @returns {HistogramResult}
 */
const histogramResult = (value) => /** @type {HistogramResult} */ (value);

/**
 * @param {Place} place
 * @param {Stage} stage
 */
function showBoot(place, stage) {
  byId("boot-progress", HTMLElement).hidden = false;
  const bar = byId("boot-bar", HTMLProgressElement);
  const label = byId("boot-label", HTMLElement);
  const { bytes, total } = stage;
  if (bytes !== undefined && total !== undefined) {
    // The download is most of the wait, the stages after it share the last fifth of the bar.
    bar.value = 0.8 * (bytes / total);
    tell(label, () =>
      say("boot.download", {
        place: say(`place.${place}`),
        bytes: size(bytes),
        total: size(total),
      }),
    );
  } else {
    bar.value = Math.min(0.98, bar.value + 0.05);
    tell(label, () =>
      say("boot.stage", {
        place: say(`place.${place}`),
        stage: say(`boot.${stage.name}`),
      }),
    );
  }
}
