/**
 * The checks, in the order of the table, and how one of them is run on one subject.
 */

import "./spawned.js";
import { answers } from "./checks/answers.js";
import { boots } from "./checks/boots.js";
import { deaths } from "./checks/deaths.js";
import { endings } from "./checks/endings.js";
import { order } from "./checks/order.js";
import { refusals } from "./checks/refusals.js";
import { BOOT_LIMIT, LIMIT } from "./outcome.js";

/** @import { Verdict } from "./checks/check.js" */

const CHECKS = [...answers, ...deaths, ...boots, ...refusals, ...endings, ...order];

/** What a table needs to know before anything has run. */
export const plan = {
  limit: LIMIT,
  bootLimit: BOOT_LIMIT,
  checks: CHECKS.map(({ title, alone = false }) => ({ title, alone })),
};

/**
 * @param {string} name of the subject
 * @param {number} number of the check in the plan
 * @returns {Promise<Verdict>}
 */
export async function check(name, number) {
  const { adapter } = await import(new URL(`${name}.js`, document.baseURI).href);
  return await CHECKS[number].run(adapter);
}
