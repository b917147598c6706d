import { ApiError, call } from "./api.js";

/**
 * What the lab's server is asked and told. Every function rejects with an ApiError when it refuses
 * or does not answer.
 *
 * @import { LabWorker, Listed } from "./section-lab-state.js"
 *
 * @typedef {object} LabPolicy spans in seconds, before `time_scale`
 * @property {number} batch
 * @property {number} max_attempts
 * @property {number[]} backoff_s
 * @property {number} lease_s
 * @property {number} send_timeout_s
 * @property {number} time_scale
 *
 * @typedef {object} LabFigures
 * @property {LabPolicy} policy
 * @property {number} workers most at a time
 * @property {number} worker_s how long each may run, not scaled
 *
 * @typedef {object} Behaviour of the lab's channel
 * @property {boolean} down
 * @property {boolean} refuses
 * @property {number} fails the first so many attempts of each row
 * @property {number} takes_s a send, before it is scaled
 *
 * @typedef {"freeze" | "freeze-sending" | "thaw" | "kill" | "stop"} Verb
 */

const CHANNEL_NAME = "lab";

export { ApiError as LabError };

/** @returns {Promise<LabFigures>} */
export const readFigures = () => call("GET", "lab");

/** @returns {Promise<LabWorker[]>} */
export const readWorkers = async () => (await call("GET", "lab/workers")).workers;

export const startWorker = () => call("POST", "lab/workers");
export const startDrain = () => call("POST", "lab/drains");

/**
 * @param {number} worker
 * @param {Verb} verb
 */
export const act = (worker, verb) => call("POST", `lab/workers/${worker}/${verb}`);

/** @returns {Promise<Behaviour>} */
export const readChannel = () => call("GET", "lab/channel");

/** @param {Behaviour} behaviour */
export const setChannel = (behaviour) => call("PUT", "lab/channel", behaviour);

/**
 * @param {string} text
 * @param {number} count
 */
export const enqueue = (text, count) => call("POST", "lab/deliveries", { text, count });

/** Pages of 200 rows that are asked for at most. */
const MOST_PAGES = 6;

/** @returns {Promise<Listed[]>} rows that wait, in the order in which they fall due */
export async function readPending() {
  const path = `deliveries?channel=${CHANNEL_NAME}&status=pending&limit=200`;
  let { deliveries, cursor } = await call("GET", path);
  const rows = [...deliveries];
  for (let page = 1; cursor && page < MOST_PAGES; page += 1) {
    ({ deliveries, cursor } = await call("GET", `${path}&cursor=${encodeURIComponent(cursor)}`));
    rows.push(...deliveries);
  }
  return rows;
}

/** @returns {Promise<boolean>} */
export const readPaused = async () =>
  (await call("GET", "channels")).channels.some(
    (/** @type {{channel: string, paused_at: string | null}} */ one) =>
      one.channel === CHANNEL_NAME && one.paused_at !== null,
  );

/** @param {boolean} paused */
export const setPaused = (paused) =>
  call("POST", `channels/${CHANNEL_NAME}/${paused ? "pause" : "resume"}`);
