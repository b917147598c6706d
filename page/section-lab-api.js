import { site } from "./site.js";

/**
 * What the lab's server is asked and told. Every function rejects with a LabError when it refuses
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

/** The server refused, with its reason as `message`, or did not answer (`status` 0). */
export class LabError extends Error {
  name = "LabError";

  /**
   * @param {string} message
   * @param {number} status
   */
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/**
 * @param {string} method
 * @param {string} path
 * @param {object} [body]
 */
async function call(method, path, body) {
  const response = await fetch(new URL(path, site.api), {
    method,
    ...(body && { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }),
  }).catch(() => undefined);
  if (!response) throw new LabError("", 0);
  const answer = await response.json().catch(() => undefined);
  if (!response.ok || !answer) throw new LabError(answer?.detail ?? "", response.status);
  return answer;
}

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

/** @returns {Promise<Listed[]>} rows that wait, the first 200 */
export const readPending = async () =>
  (await call("GET", `deliveries?channel=${CHANNEL_NAME}&status=pending&limit=200`)).deliveries;

/** @returns {Promise<boolean>} */
export const readPaused = async () =>
  (await call("GET", "channels")).channels.some(
    (/** @type {{channel: string, paused_at: string | null}} */ one) =>
      one.channel === CHANNEL_NAME && one.paused_at !== null,
  );

/** @param {boolean} paused */
export const setPaused = (paused) =>
  call("POST", `channels/${CHANNEL_NAME}/${paused ? "pause" : "resume"}`);
