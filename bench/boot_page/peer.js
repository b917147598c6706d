/**
 * The other side of the comparison: Pyodide booted plainly, as its documentation says. It counts a
 * picture if it was sent one.
 */

addEventListener("message", async ({ data: { runtimeURL, lockFileURL, image } }) => {
  const started = performance.now();
  const now = () => performance.now() - started;
  const { loadPyodide } = await import(`${runtimeURL}pyodide.mjs`);
  const pyodide = await loadPyodide({
    indexURL: runtimeURL,
    lockFileURL,
    packageBaseUrl: runtimeURL,
  });
  const interpreter = now();
  await pyodide.loadPackage(["numpy", "pillow"], { messageCallback() {} });
  const packages = now();
  pyodide.runPython("import numpy, PIL.Image");
  const imported = now();
  postMessage({ type: "ready" });
  if (!image) {
    return;
  }
  pyodide.globals.set("image", image);
  const sum = pyodide.runPython(`
import io
pixels = numpy.asarray(PIL.Image.open(io.BytesIO(image.to_bytes())).convert("RGB"))
bins = [numpy.bincount(pixels[..., c].ravel(), minlength=256) for c in range(3)]
int(sum(counts.sum() for counts in bins))
`);
  postMessage({
    type: "done",
    sum,
    stages: { interpreter, packages, imported, computed: now() },
  });
});
