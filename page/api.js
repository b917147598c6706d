import { site } from "./site.js";

/** The server refused, with its reason as `message`, or did not answer (`status` 0). */
export class ApiError extends Error {
  name = "ApiError";

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
 * Asks the server for something, or tells it something, in JSON.
 *
 * @param {string} method
 * @param {string} path below the API
 * @param {object} [body]
 * @throws {ApiError} when it refuses or does not answer
 */
export async function call(method, path, body) {
  const response = await fetch(new URL(path, site.api), {
    method,
    ...(body && { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }),
  }).catch(() => undefined);
  if (!response) throw new ApiError("", 0);
  const answer = await response.json().catch(() => undefined);
  if (!response.ok || !answer) throw new ApiError(answer?.detail ?? "", response.status);
  return answer;
}
