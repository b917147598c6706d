import { tasks } from "./tasks.js";

/** @type {Record<string, (payload: any) => unknown>} */
const known = tasks;

self.onmessage = async ({ data: { id, task, payload } }) => {
  try {
    postMessage({ id, result: await known[task](payload) });
  } catch (error) {
    postMessage({ id, error });
  }
};
