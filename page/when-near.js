/**
 * Calls `load` once, when the reader comes near.
 *
 * @param {Element} element
 * @param {() => void} load
 */
export function whenNear(element, load) {
  const observer = new IntersectionObserver(
    (entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      observer.disconnect();
      load();
    },
    { rootMargin: "50%" },
  );
  observer.observe(element);
}
