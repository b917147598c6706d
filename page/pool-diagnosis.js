/**
 * Finds out why a worker's script did not load: the browser's own event does not tell.
 *
 * @param {string | URL | undefined} url undefined where only the caller's own function knows it
 * @returns {Promise<string>} a sentence
 */
export async function whyNotLoaded(url) {
  if (url === undefined) {
    return `The worker's script could not be loaded: ${POSSIBLE}`;
  }
  const script = new URL(url, globalThis.location.href);
  try {
    const response = await fetch(script);
    await response.body?.cancel();
    if (!response.ok) {
      return `The worker's script ${script} could not be loaded: the server answers ${response.status}`;
    }
    const type = response.headers.get("content-type") ?? "of no type";
    if (!/javascript|ecmascript/.test(type)) {
      return `The worker's script ${script} could not be loaded: it is ${type}, not JavaScript`;
    }
  } catch (error) {
    return `The worker's script ${script} could not be loaded, nor looked at (${error}): ${POSSIBLE}`;
  }
  return `The worker's script ${script} is there but did not run: ${POSSIBLE}`;
}

const POSSIBLE =
  "it, or a module that it imports, is missing, has a syntax error, or is refused by a policy; " +
  "the browser's console says which";
