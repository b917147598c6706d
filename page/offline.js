import { site } from "./site.js";

/**
 * Registers the service worker of this build once the page has nothing better to do. A browser
 * without service workers, or a page that is not served securely, works as before, online.
 */
export function keepForOffline() {
  if (!("serviceWorker" in navigator)) return;
  const url = new URL("service-worker.js", site.root);
  url.searchParams.set("build", site.build);
  const register = () => {
    navigator.serviceWorker.register(url, { scope: site.root.href }).catch((error) => {
      document.documentElement.dataset.offline = String(error);
    });
  };
  if (document.readyState === "complete") register();
  else addEventListener("load", register, { once: true });
}
