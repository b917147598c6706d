import { byId } from "./element.js";
import { FrameMeter } from "./frame-meter.js";
import { missingFeatures } from "./missing-features.js";
import { keepForOffline } from "./offline.js";
import { PressMeter } from "./press-meter.js";
import { connectQueue } from "./queue.js";
import { connectStage } from "./stage.js";
import { connectSwitches } from "./switches.js";
import { loadWords, say, whenSpoken } from "./text.js";
import { tell } from "./told.js";
import { whenNear } from "./when-near.js";
import { WorkerA } from "./worker-a.js";

await loadWords();
connectSwitches();

const meter = new FrameMeter();
const presses = new PressMeter(document);
const noteRun = connectStage(meter, presses);
connectQueue();

const missing = missingFeatures();
if (missing.length === 0) {
  new WorkerA(meter, presses, noteRun).connect();
  // What lies further down does not weigh on the first view: it is loaded by its button.
  byId("transfer-run", HTMLButtonElement).addEventListener("click", () => {
    import("./transfer.js")
      .then(({ compareTransfer }) => compareTransfer())
      .catch(() => {
        tell(byId("transfer-status", HTMLElement), () => say("transfer.broken"));
      });
  });
  const pool = byId("pool", HTMLElement);
  pool.addEventListener("click", async ({ target }) => {
    const button = target instanceof Element && target.closest("button[data-pool]");
    if (!(button instanceof HTMLButtonElement)) return;
    const { place } = button.dataset;
    try {
      if (button.dataset.pool === "photos") {
        const { countPhotos } = await import("./section-pool-photos.js");
        await countPhotos(/** @type {"main" | "worker" | "pool"} */ (place), meter, presses);
      } else {
        const { press } = await import("./section-pool.js");
        press(button);
      }
    } catch {
      const status = place ? "pool-photos-status" : "pool-status";
      tell(byId(status, HTMLElement), () => say("page.partMissing"));
    }
  });
  // If this fails, the buttons try again and say so.
  whenNear(pool, () => import("./section-pool.js").catch(() => {}));
} else {
  const notice = byId("missing", HTMLElement);
  notice.hidden = false;
  whenSpoken(() => {
    notice.textContent = missing.map((key) => say(key)).join(" ");
  });
  for (const button of document.querySelectorAll(
    "button[data-run], button[data-pool], #transfer-run",
  )) {
    button.setAttribute("disabled", "");
  }
}

keepForOffline();
