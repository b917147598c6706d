import { WorkerPool } from "./pool/pool.js";

const pool = new WorkerPool({
  url: new URL("worker.js", import.meta.url),
  maxQueue: 30,
  taskTimeout: 60_000,
  onEvent: showWorkers,
});

const list = document.querySelector("#tasks");
let wanted = new AbortController();

/** Sends a task and shows what becomes of it: every promise of the pool settles. */
async function send(task, payload, label) {
  const item = document.createElement("li");
  const progress = document.createElement("progress");
  const output = document.createElement("output");
  progress.value = 0;
  progress.setAttribute("aria-label", label);
  item.dataset.state = "sent";
  item.append(`${label} `, progress, " ", output);
  list.append(item);
  try {
    const result = await pool.run(task, payload, {
      signal: wanted.signal,
      onProgress: (value) => {
        progress.value = value;
      },
    });
    item.dataset.state = "done";
    output.value = result.toLocaleString("en");
  } catch (error) {
    item.dataset.state = "failed";
    output.value = `${error.name}: ${error.message}`;
  }
}

function showWorkers() {
  const { workers, queued, counts } = pool.stats;
  const shown = workers.map(({ worker, status }) => `${worker || "–"} ${status}`).join(", ");
  document.querySelector("#workers").textContent =
    `Workers: ${shown}. Waiting: ${queued}. Done: ${counts.done} of ${counts.sent}.`;
}

document.querySelector("#run").addEventListener("click", () => {
  for (let step = 1; step <= 10; step += 1) {
    const below = step * 100_000;
    send("primes", { below }, `primes below ${below.toLocaleString("en")}`);
  }
});

document.querySelector("#cancel").addEventListener("click", () => {
  wanted.abort();
  wanted = new AbortController();
});

document.querySelector("#crash").addEventListener("click", () => {
  send("crash", undefined, "crash");
});
