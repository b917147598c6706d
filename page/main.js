import { byId } from "./element.js";
import { FrameMeter } from "./frame-meter.js";
import { missingFeatures } from "./missing-features.js";
import { keepForOffline } from "./offline.js";
import { PressMeter } from "./press-meter.js";
import { connectQueue } from "./queue.js";
import { connectStage } from "./stage.js";
import { connectSwitches } from "./switches.js";
import { loadWords, say, whenSpoken } from "./text.js";
import { WorkerA } from "./worker-a.js";

await loadWords();
connectSwitches();

const meter = new FrameMeter();
const presses = new PressMeter(document);
connectStage(meter, presses);
connectQueue();

const missing = missingFeatures();
if (missing.length === 0) {
  new WorkerA(meter, presses).connect();
  whenNear("transfer", () =>
    import("./transfer.js").then(({ connectTransfer }) => connectTransfer()),
  );
} else {
  const notice = byId("missing", HTMLElement);
  notice.hidden = false;
  whenSpoken(() => {
    notice.textContent = missing.map((key) => say(key)).join(" ");
  });
  for (const button of document.querySelectorAll("button[data-run], #transfer-run")) {
    button.setAttribute("disabled", "");
  }
}

keepForOffline();

/**
 * Runs `begin` once, when the reader comes near a section: what lies further down the page does
 * not weigh on its first view.
 *
 * @param {string} id
 * @param {() => void} begin
 */
function whenNear(id, begin) {
  const observer = new IntersectionObserver(
    (entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      observer.disconnect();
      begin();
    },
    { rootMargin: "100%" },
  );
  observer.observe(byId(id, HTMLElement));
}
