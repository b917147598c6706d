/**
 * The third thing that is called a worker: it consumes fetch events, so that the page works
 * without a network after the first visit.
 *
 * One registration belongs to one build of the site. It keeps that build's pages and files
 * together in a cache of their own and hands out nothing else, so that two versions never mix;
 * a newer build is a newer service worker, which takes over when the last tab of the old one has
 * been closed. Responses are kept whole, with their headers, because without them there would be
 * no cross-origin isolation. The API is never touched.
 */

const scope = /** @type {ServiceWorkerGlobalScope} */ (/** @type {unknown} */ (globalThis));

/** The build that this service worker belongs to, as the page named it when it registered us. */
const build = new URL(scope.location.href).searchParams.get("build") ?? "";
const CACHE = `build ${build}`;
const root = new URL("./", scope.location.href);
/** Files that never change under their name; they are kept at their first use. */
const VERSIONED = /^(assets|runtime)\/[0-9a-f]+\//;

scope.addEventListener("install", (event) => event.waitUntil(install()));
scope.addEventListener("activate", (event) => event.waitUntil(forgetOtherBuilds()));
scope.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || !url.href.startsWith(root.href)) return;
  const path = url.href.slice(root.href.length).replace(/[?#].*$/, "");
  if (path.startsWith("api/")) return;
  if (request.mode === "navigate") event.respondWith(networkFirst(request));
  else if (VERSIONED.test(path)) event.respondWith(cacheFirst(request));
});

/**
 * Keeps the pages and all small files of this build.
 *
 * @throws {Error} when a file is missing or the server has another build by now; the browser
 * then forgets this service worker and tries again at the next visit
 */
async function install() {
  const cache = await caches.open(CACHE);
  const offline = await fetched("offline.json").then((response) => response.json());
  if (offline.build !== build)
    throw new Error(`The server has build ${offline.build}, not ${build}`);
  for (const page of offline.pages) {
    const response = await fetched(page);
    const text = await response.clone().text();
    if (!text.includes(build)) throw new Error(`${page || "The page"} is not of build ${build}`);
    await cache.put(new URL(page, root), response);
  }
  await cache.addAll(offline.files.map((/** @type {string} */ file) => new URL(file, root).href));
}

/**
 * @param {string} path relative to the site
 * @returns {Promise<Response>} from the server, not from the HTTP cache
 * @throws {Error} when the server has no such file
 */
async function fetched(path) {
  const response = await fetch(new URL(path, root), { cache: "reload" });
  if (!response.ok) throw new Error(`${path} answered ${response.status}`);
  return response;
}

async function forgetOtherBuilds() {
  for (const name of await caches.keys()) {
    if (name !== CACHE) await caches.delete(name);
  }
}

/**
 * @param {Request} request a navigation
 * @returns {Promise<Response>}
 */
async function networkFirst(request) {
  try {
    return await fetch(request);
  } catch (error) {
    const kept = await caches.match(request, { cacheName: CACHE, ignoreSearch: true });
    if (kept) return kept;
    throw error;
  }
}

/**
 * @param {Request} request for a file that never changes under its name
 * @returns {Promise<Response>}
 */
async function cacheFirst(request) {
  const cache = await caches.open(CACHE);
  const kept = await cache.match(request);
  if (kept) return kept;
  const response = await fetch(request);
  if (response.ok) {
    // A full disk costs the page its offline use of this file, and nothing else.
    cache.put(request, response.clone()).catch(() => undefined);
  }
  return response;
}
