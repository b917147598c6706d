/**
 * The modules under test: those of page/, or those of the folder that POOL_FOLDER names by a file
 * URL that ends in a slash (tests/page/test_pool_mutations.py puts broken ones there).
 */

const folder = process.env.POOL_FOLDER ?? new URL("../../../page/", import.meta.url).href;

/** @param {string} name of a module */
const load = (name) => import(new URL(name, folder).href);

export const { step } = await load("pool-core.js");
export const { openPool, nextDeadline } = await load("pool-state.js");
export const { LONGEST_PAUSE } = await load("pool-moves.js");
export const { limitsOf, defaultSize, size, amount, listener } = await load("pool-options.js");
export const errors = await load("pool-errors.js");
export const { TaskError } = await load("protocol.js");
export const { TaskQueue } = await load("pool-queue.js");
