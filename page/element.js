/**
 * The element with this id. The markup and the scripts are one thing in two files: an id that
 * is missing is a defect of the page, so it is thrown at once and by name.
 *
 * @template {Element} Kind
 * @param {string} id
 * @param {new () => Kind} kind the class the element must have
 * @returns {Kind}
 * @throws {Error} when there is no such element, or it is of another class
 */
export function byId(id, kind) {
  const element = document.getElementById(id);
  if (!(element instanceof kind)) throw new Error(`The page has no ${kind.name} #${id}`);
  return element;
}

/**
 * The first element inside `root` that matches, of the stated class.
 *
 * @template {Element} Kind
 * @param {ParentNode} root
 * @param {string} selector
 * @param {new () => Kind} kind
 * @returns {Kind}
 * @throws {Error} when nothing of that class matches
 */
export function find(root, selector, kind) {
  const element = root.querySelector(selector);
  if (!(element instanceof kind))
    throw new Error(`Nothing of class ${kind.name} matches ${selector}`);
  return element;
}
