/** pg-boss, by its fetch and complete without the pause that its own loop makes: see protocol.py. */

import PgBoss from "pg-boss";
import { ended, given, now, say, single, started, trickle } from "./protocol.js";

const wanted = given();
const STEP = 1000;
const QUEUE = "nothing";
const PAUSE_MS = 5;
const boss = new PgBoss({ connectionString: wanted.conninfo, schedule: false });

/** @type {[number, number][]} */
const seen = [];
let over = false;

const work = async () => {
  while (!over) {
    const jobs = await boss.fetch(QUEUE, { batchSize: wanted.batch });
    if (jobs.length === 0) {
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      continue;
    }
    for (const job of jobs) seen.push([/** @type {{n: number}} */ (job.data).n, now()]);
    await boss.complete(
      QUEUE,
      jobs.map((job) => job.id),
    );
  }
};

await boss.start();
if (wanted.act === "work") {
  await started();
  const working = work();
  await ended();
  over = true;
  await working;
  await say({ seen });
}
/** @param {number} n */
const add = (n) => boss.send(QUEUE, { n });
if (wanted.act === "setup") await boss.createQueue(QUEUE);
if (wanted.act === "single") await single(wanted.count, add);
if (wanted.act === "trickle") await trickle(wanted, add);
if (wanted.act === "fill") {
  const began = now();
  for (let first = 0; first < wanted.count; first += STEP) {
    const length = Math.min(STEP, wanted.count - first);
    await boss.insert(
      Array.from({ length }, (_, place) => ({ name: QUEUE, data: { n: first + place } })),
    );
  }
  await say({ seconds: now() - began });
}
await boss.stop({ graceful: false, wait: false });
process.exit(0);
