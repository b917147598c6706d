/**
 * The peer in plain JavaScript: decoding by the browser, shrinking by a canvas, counting in a
 * loop. It counts the same bins and the same cube over a picture of the same size; its numbers
 * differ, because browsers decode and shrink in their own way. That difference is measured too.
 */
async ({ image, width, height }) => {
  const bytes = Uint8Array.fromBase64?.(image) ?? Uint8Array.from(atob(image), (c) => c.charCodeAt(0));
  const started = performance.now();
  const bitmap = await createImageBitmap(new Blob([bytes]));
  const decoded = performance.now();
  const context = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  context.imageSmoothingQuality = "high";
  context.drawImage(bitmap, 0, 0, width, height);
  const { data } = context.getImageData(0, 0, width, height);
  const shrunk = performance.now();
  const bins = [new Uint32Array(256), new Uint32Array(256), new Uint32Array(256)];
  const cube = new Uint32Array(4096);
  for (let at = 0; at < data.length; at += 4) {
    const [red, green, blue] = [data[at], data[at + 1], data[at + 2]];
    bins[0][red] += 1;
    bins[1][green] += 1;
    bins[2][blue] += 1;
    cube[((red >> 4) << 8) | ((green >> 4) << 4) | (blue >> 4)] += 1;
  }
  const counted = performance.now();
  return {
    total: counted - started,
    stages: { decode: decoded - started, shrink: shrunk - decoded, count: counted - shrunk },
    bins: bins.map((list) => [...list]),
  };
};
