const NAMESPACE = "http://www.w3.org/2000/svg";

/**
 * Makes one SVG element.
 *
 * @template {keyof SVGElementTagNameMap} Name
 * @param {Name} name
 * @param {Record<string, string | number>} [attributes]
 * @param {string} [text] text content
 * @returns {SVGElementTagNameMap[Name]}
 */
export function svg(name, attributes = {}, text) {
  const element = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  if (text !== undefined) element.textContent = text;
  return element;
}
