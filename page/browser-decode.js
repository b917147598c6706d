/**
 * Decoding by the browser, for formats that Pillow's build for Pyodide has no decoder for
 * (AVIF, HEIC, JPEG 2000), and for the preview.
 *
 * Browsers differ here: in colour management, in rounding, and some add noise to pixels that are
 * read back, against fingerprinting. The result therefore says that a browser decoded it.
 */

/** The same limit as the handlers have; a canvas beyond it costs more than the picture is worth. */
const MOST_PIXELS = 64_000_000;

/**
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @returns {Promise<{rgba: Uint8Array<ArrayBuffer>, width: number, height: number} | undefined>}
 * 8-bit RGBA rows from the top; undefined when this browser cannot decode it or refuses its size
 */
export async function decodeInBrowser(bytes) {
  const bitmap = await bitmapOf(bytes);
  if (!bitmap) return undefined;
  try {
    const { width, height } = bitmap;
    if (width * height > MOST_PIXELS) return undefined;
    const context = new OffscreenCanvas(width, height).getContext("2d", {
      willReadFrequently: true,
      colorSpace: "srgb",
    });
    if (!context) return undefined;
    context.drawImage(bitmap, 0, 0);
    const { data } = context.getImageData(0, 0, width, height);
    return { rgba: new Uint8Array(data.buffer), width, height };
  } finally {
    bitmap.close();
  }
}

/**
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @returns {Promise<ImageBitmap | undefined>} turned as its EXIF orientation says; undefined when
 * this browser cannot decode it
 */
export async function bitmapOf(bytes) {
  try {
    return await createImageBitmap(new Blob([bytes]), {
      imageOrientation: "from-image",
      premultiplyAlpha: "none",
    });
  } catch (error) {
    if (error instanceof DOMException) return undefined;
    throw error;
  }
}
