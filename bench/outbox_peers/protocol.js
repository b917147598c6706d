/** What protocol.py says, for the programs that run in Node. */

import { createInterface } from "node:readline";

/** @typedef {{act: string, conninfo: string, count: number, batch: number, concurrency: number,
 *   rate: number, batched?: boolean}} Wanted */

/** @returns {Wanted} the argument of this program */
export const given = () => JSON.parse(process.argv[2] ?? "{}");

/** @returns {number} seconds of the machine's steady clock */
export const now = () => Number(process.hrtime.bigint()) / 1e9;

/** Prints one answer; resolves when it has been written.
 * @param {object} fields */
export const say = (fields) =>
  new Promise((resolve) => process.stdout.write(`${JSON.stringify(fields)}\n`, resolve));

const lines = createInterface({ input: process.stdin });
const over = new Promise((resolve) => lines.once("close", resolve));

/** Says that this worker is ready; resolves when it may begin. */
export const started = async () => {
  process.stdout.write("ready\n");
  await new Promise((resolve) => lines.once("line", resolve));
};

/** Resolves when this worker is to end. */
export const ended = () => over;

/** @param {number} count @param {(number: number) => Promise<unknown>} enqueue */
export const single = async (count, enqueue) => {
  const began = now();
  for (let number = 0; number < count; number++) await enqueue(number);
  await say({ seconds: now() - began });
};

/** @param {Wanted} wanted @param {(number: number) => Promise<unknown>} enqueue */
export const trickle = async ({ count, rate }, enqueue) => {
  const at = [];
  const begun = [];
  const began = now();
  for (let number = 0; number < count; number++) {
    const pause = began + number / rate - now();
    if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause * 1000));
    begun.push(now());
    await enqueue(number);
    at.push(now());
  }
  await say({ at, begun });
};
