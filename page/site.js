/**
 * Where things are. The build writes versioned, immutable folders into three metas; the same
 * page therefore works at any path of any server.
 *
 * @param {string} name
 * @returns {string}
 * @throws {Error} when the page has no such meta
 */
function meta(name) {
  const element = document.querySelector(`meta[name="${name}"]`);
  if (!(element instanceof HTMLMetaElement)) throw new Error(`The page has no meta ${name}`);
  return element.content;
}

const root = new URL(meta("site-root"), location.href);

/** Absolute URLs, each ending in a slash, and the name of this build. */
export const site = {
  build: meta("site-build"),
  root,
  assets: new URL(meta("site-assets"), root),
  runtime: new URL(meta("site-runtime"), root),
  api: new URL("api/", root),
};
