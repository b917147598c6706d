/** graphile-worker, plain or `batched`: see protocol.py. */

import { Logger, makeWorkerUtils, run } from "graphile-worker";
import pg from "pg";
import { ended, given, now, say, single, started, trickle } from "./protocol.js";

const wanted = given();
const STEP = 1000;
const logger = new Logger(() => () => {});
const pgPool = new pg.Pool({ connectionString: wanted.conninfo, max: 10 });

/** @type {[number, number][]} */
const seen = [];
const taskList = {
  /** @param {unknown} payload */
  nothing: async (payload) => {
    seen.push([/** @type {{n: number}} */ (payload).n, now()]);
  },
};

if (wanted.act === "work") {
  const { concurrency, batch } = wanted;
  const worker = wanted.batched
    ? { localQueue: { size: batch }, completeJobBatchDelay: 0, failJobBatchDelay: 0 }
    : {};
  await pgPool.query("select 1");
  await started();
  const runner = await run({
    pgPool,
    taskList,
    concurrency,
    logger,
    noHandleSignals: true,
    preset: { worker: { ...worker, concurrentJobs: concurrency } },
  });
  await ended();
  await runner.stop();
  await say({ seen });
} else {
  const utils = await makeWorkerUtils({ pgPool, logger });
  /** @param {number} n */
  const add = (n) => utils.addJob("nothing", { n });
  if (wanted.act === "setup") await utils.migrate();
  if (wanted.act === "single") await single(wanted.count, add);
  if (wanted.act === "trickle") await trickle(wanted, add);
  if (wanted.act === "fill") {
    const began = now();
    for (let first = 0; first < wanted.count; first += STEP) {
      const length = Math.min(STEP, wanted.count - first);
      const jobs = Array.from({ length }, (_, place) => ({
        identifier: "nothing",
        payload: { n: first + place },
      }));
      await utils.addJobs(jobs);
    }
    await say({ seconds: now() - began });
  }
  await utils.release();
}
await pgPool.end();
process.exit(0);
