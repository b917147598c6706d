/** BullMQ on Node, keeping nothing that is done: see bench/outbox_peers/protocol.py. */

import { Queue, Worker } from 'bullmq';
import { ended, given, now, say, single, started, trickle } from '../outbox_peers/protocol.js';

const wanted = given();
const NAME = 'nothing';
const STEP = 500;
const opts = { removeOnComplete: true };
const connection = { url: wanted.conninfo, maxRetriesPerRequest: null };

if (wanted.act === 'work') {
  /** @type {[number, number][]} */
  const seen = [];
  const { concurrency } = wanted;
  const worker = new Worker(
    NAME,
    async (job) => {
      seen.push([job.data.n, now()]);
    },
    { connection, concurrency, autorun: false },
  );
  await worker.waitUntilReady();
  await started();
  worker.run();
  await ended();
  await worker.close(true);
  await say({ seen });
} else {
  const queue = new Queue(NAME, { connection });
  await queue.waitUntilReady();
  /** @param {number} n */
  const add = (n) => queue.add(NAME, { n }, opts);
  if (wanted.act === 'single') await single(wanted.count, add);
  if (wanted.act === 'trickle') await trickle(wanted, add);
  if (wanted.act === 'fill') {
    const began = now();
    for (let first = 0; first < wanted.count; first += STEP) {
      const length = Math.min(STEP, wanted.count - first);
      await queue.addBulk(
        Array.from({ length }, (_, place) => ({ name: NAME, data: { n: first + place }, opts })),
      );
    }
    await say({ seconds: now() - began });
  }
  await queue.close();
}
process.exit(0);
