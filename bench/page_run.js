/**
 * One measured run on the page's own modules: the picture is counted on one thread while the
 * page's own meter watches the frames; for "idle" nothing is done for as long as a run takes.
 */
async ({ assets, place, image, idleMs }) => {
  const module = (name) => import(new URL(`${assets}page/${name}`, location.href));
  const { FrameMeter } = await module("frame-meter.js");
  const { PressMeter } = await module("press-meter.js");
  const { measureRun } = await module("run-measure.js");
  const { runtimeOn } = await module("places.js");
  const bytes = Uint8Array.from(atob(image), (character) => character.charCodeAt(0));
  globalThis.meter ??= new FrameMeter();
  globalThis.presses ??= new PressMeter(document);
  const work =
    place === "idle"
      ? () => new Promise((resolve) => setTimeout(resolve, idleMs))
      : await runtimeOn(place, () => {}).then(
          (runtime) => () => runtime.run("histogram", { image: bytes, method: "vectorised" }),
        );
  const { result, measure } = await measureRun(globalThis.meter, globalThis.presses, work);
  return {
    longestGap: measure.longestGap,
    stages: Object.fromEntries((result?.stages ?? []).map(({ name, ms }) => [name, ms])),
    total: (result?.stages ?? []).reduce((sum, { ms }) => sum + ms, 0),
    bins: result ? ["r", "g", "b"].map((channel) => [...result.bins[channel]]) : [],
    counted: result?.counted,
  };
};
