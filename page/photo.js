import { byId, find } from "./element.js";
import { showPreview } from "./photo-preview.js";
import { SayableError } from "./sayable-error.js";
import { site } from "./site.js";
import { say, whenSpoken } from "./text.js";

/**
 * The picture that gets counted: the reader's own (dialog, drop, paste) or a sample.
 *
 * @typedef {{name: string, bytes: Uint8Array<ArrayBuffer>}} Photo the file as it is, never
 *   re-encoded; the name is empty when it was pasted without one
 * @typedef {{file: string, thumb: string, width: number, height: number, bytes: number, alt: string}} Sample
 */

/** @type {Photo | undefined} */
let current;
/** @type {Set<(photo: Photo) => void>} */
const listeners = new Set();
/** @type {Sample[]} */
let samples = [];

/**
 * @param {(photo: Photo) => void} listener called whenever another picture is chosen
 */
export function whenPhotoChanges(listener) {
  listeners.add(listener);
}

/**
 * The chosen picture; the first sample when nothing was chosen yet.
 *
 * @returns {Promise<Photo>}
 * @throws {Error} when the sample cannot be loaded
 */
export async function currentPhoto() {
  if (current) return current;
  const [first] = await loadSamples();
  if (!first) throw new SayableError("photo.noSamples");
  return chooseSample(first);
}

/**
 * @param {string} name of a photo
 * @returns {string} what the page calls it, in the reader's language
 */
export const calledName = (name) => name || say("photo.pasted");

/** @returns {Promise<Sample[]>} */
async function loadSamples() {
  if (samples.length === 0) {
    const response = await fetch(new URL("samples/samples.json", site.assets));
    if (!response.ok) throw new SayableError("photo.noSamples");
    samples = await response.json();
  }
  return samples;
}

/**
 * Every sample picture.
 *
 * @returns {Promise<Photo[]>}
 * @throws {Error} when one cannot be loaded
 */
export async function samplePhotos() {
  return Promise.all((await loadSamples()).map(loadSample));
}

/**
 * @param {Sample} sample
 * @returns {Promise<Photo>}
 */
async function loadSample({ file }) {
  const response = await fetch(new URL(`samples/${file}`, site.assets));
  if (!response.ok) throw new SayableError("photo.noSamples");
  return { name: file, bytes: new Uint8Array(await response.arrayBuffer()) };
}

/**
 * @param {Sample} sample
 * @returns {Promise<Photo>}
 */
async function chooseSample(sample) {
  const { name, bytes } = await loadSample(sample);
  return choose(name, bytes);
}

/**
 * @param {string} name
 * @param {Uint8Array<ArrayBuffer>} bytes
 */
function choose(name, bytes) {
  current = { name, bytes };
  for (const listener of listeners) listener(current);
  return current;
}

/** @param {Blob & {name?: string}} file */
async function chooseFile(file) {
  choose(file.name ?? "", new Uint8Array(await file.arrayBuffer()));
}

/**
 * Connects dialog, drop, paste and samples.
 *
 * @param {(error: unknown) => void} onError called when a picture cannot be loaded at all
 */
export async function connectPhotoPicker(onError) {
  const dialog = byId("photo-file", HTMLInputElement);
  const drop = byId("photo-drop", HTMLElement);
  /** @param {FileList | undefined | null} files */
  const take = (files) => {
    const file = files?.[0];
    if (file) chooseFile(file).catch(onError);
  };
  dialog.addEventListener("change", () => {
    take(dialog.files);
    dialog.value = "";
  });
  // The whole page takes a drop: a photo that misses the frame must not replace the page.
  document.addEventListener("dragover", (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    drop.classList.add("dropping");
  });
  document.addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) drop.classList.remove("dropping");
  });
  document.addEventListener("drop", (event) => {
    drop.classList.remove("dropping");
    if (!event.dataTransfer?.files.length) return;
    event.preventDefault();
    take(event.dataTransfer.files);
  });
  document.addEventListener("paste", (event) => {
    if (!event.clipboardData?.files.length) return;
    event.preventDefault();
    take(event.clipboardData.files);
  });
  try {
    showSamples(await loadSamples(), onError);
  } catch (error) {
    onError(error);
  }
}

/**
 * @param {Sample[]} list
 * @param {(error: unknown) => void} onError
 */
function showSamples(list, onError) {
  const items = list.map((sample) => {
    const item = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.sample = sample.file;
    const image = new Image(sample.width, sample.height);
    image.src = new URL(`samples/${sample.thumb}`, site.assets).href;
    image.loading = "lazy";
    image.decoding = "async";
    button.append(image);
    button.addEventListener("click", () => chooseSample(sample).catch(onError));
    item.append(button);
    whenSpoken(() => {
      image.alt = say(sample.alt);
    });
    return item;
  });
  byId("photo-samples", HTMLElement).replaceChildren(...items);
  // The first one is what a press would count: it is shown as chosen, though not yet loaded.
  const first = items[0]?.querySelector("button");
  if (!current && list[0] && first) {
    first.setAttribute("aria-pressed", "true");
    byId("photo-name", HTMLElement).textContent = list[0].file;
    const small = find(first, "img", HTMLImageElement);
    small.addEventListener("load", () => {
      if (!current) showPreview(small);
    });
  }
  whenPhotoChanges((photo) => {
    for (const item of items) {
      const button = find(item, "button", HTMLButtonElement);
      button.setAttribute("aria-pressed", String(button.dataset.sample === photo.name));
    }
  });
}
