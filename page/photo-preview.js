import { byId } from "./element.js";

/**
 * Draws a picture over the whole preview, centred; without one the preview is empty.
 *
 * @param {ImageBitmap | HTMLImageElement | undefined} picture
 */
export function showPreview(picture) {
  const canvas = byId("photo-preview", HTMLCanvasElement);
  const context = canvas.getContext("2d");
  context?.clearRect(0, 0, canvas.width, canvas.height);
  if (!picture) return;
  const [wide, high] =
    picture instanceof HTMLImageElement
      ? [picture.naturalWidth, picture.naturalHeight]
      : [picture.width, picture.height];
  const scale = Math.max(canvas.width / wide, canvas.height / high);
  const [width, height] = [wide * scale, high * scale];
  const [x, y] = [(canvas.width - width) / 2, (canvas.height - height) / 2];
  context?.drawImage(picture, x, y, width, height);
}
