import { byId } from "./element.js";
import { whole } from "./numbers.js";
import { placesFor } from "./section-lab-places.js";
import { svg } from "./svg.js";
import { say } from "./text.js";

/**
 * The figure of the lab: boxes and words are drawn anew each time, marks are kept, so that they
 * glide from where they were to where they are.
 *
 * @import { LabState, Row } from "./section-lab-state.js"
 * @import { Box, Lane, Mark } from "./section-lab-places.js"
 */

/** @type {LabState | undefined} */
let state;
/** @type {(row: Row) => number} */
let leftOf = () => 0;
let width = 0;
/** @type {Map<number, SVGGElement>} */
const marks = new Map();
const still = svg("g");
const moving = svg("g");

/**
 * @param {LabState} shown
 * @param {(row: Row) => number} left share of its lease that a row has left, 0 to 1
 */
export function drawLab(shown, left) {
  const figure = byId("lab-flow", SVGSVGElement);
  if (!state) {
    figure.replaceChildren(still, moving);
    new ResizeObserver(() => {
      if (figure.clientWidth !== width) redraw();
    }).observe(figure);
  }
  state = shown;
  leftOf = left;
  redraw();
}

/** Lets the leases run down to where they are now. */
export function drawLeases() {
  for (const [id, mark] of marks) {
    const row = state?.rows.get(id);
    if (row?.status === "processing") setLease(mark, leftOf(row));
  }
}

function redraw() {
  const figure = byId("lab-flow", SVGSVGElement);
  width = figure.clientWidth;
  if (width === 0 || !state) return;
  const places = placesFor(state, width);
  figure.setAttribute("viewBox", `0 0 ${width} ${places.height}`);
  still.replaceChildren(
    ...places.flows.map((d) => svg("path", { class: "flow", d })),
    svg("text", { class: "box-name", ...places.waiting }, waitingWords(places.unseen)),
    ...places.lanes.map(laneBox),
    ...(places.asleep
      ? [svg("text", { class: "box-state", ...places.asleep }, say("lab.asleep"))]
      : []),
    ...places.ends.map(endBox),
  );
  const seen = new Set(places.marks.map(({ row }) => row.id));
  for (const [id, mark] of marks) {
    if (seen.has(id)) continue;
    mark.remove();
    marks.delete(id);
  }
  for (const mark of places.marks) drawMark(mark);
}

/** @param {number} unseen rows that wait and are not drawn one by one */
function waitingWords(unseen) {
  const count = whole(state?.counts.pending ?? 0);
  return unseen > 0
    ? say("lab.waitingMore", { count, more: whole(unseen) })
    : say("lab.waiting", { count });
}

/** @param {Mark} place */
function drawMark({ row, x, y, wide }) {
  let mark = marks.get(row.id);
  if (!mark) {
    mark = svg("g");
    mark.append(
      svg("use", { width: 16, height: 16 }),
      svg("text", { class: "mark-attempt", x: 20, y: 13 }),
      svg("rect", { class: "lease-track", y: 20, height: 4, rx: 2 }),
      svg("rect", { class: "lease", y: 20, height: 4, rx: 2 }),
    );
    marks.set(row.id, mark);
    moving.append(mark);
  }
  mark.setAttribute("class", `lab-mark lab-mark-${row.status}`);
  mark.dataset.row = String(row.id);
  mark.dataset.status = row.status;
  mark.style.transform = `translate(${x}px, ${y}px)`;
  const [use, attempt, track] = mark.children;
  use.setAttribute("href", `#sign-${row.status}`);
  attempt.textContent = wide > 0 ? say("lab.attemptShort", { attempt: whole(row.attempt) }) : "";
  track.setAttribute("width", String(wide));
  mark.dataset.wide = String(wide);
  setLease(mark, wide > 0 ? leftOf(row) : 0);
}

/**
 * @param {SVGGElement} mark
 * @param {number} left 0 to 1
 */
function setLease(mark, left) {
  mark.children[3].setAttribute("width", (left * Number(mark.dataset.wide)).toFixed(1));
}

/** @param {Lane} lane */
function laneBox({ x, y, width: across, height, worker, name }) {
  const state = worker?.state ?? "gone";
  const group = svg("g", {
    class: `lane lane-${state}`,
    transform: `translate(${x} ${y})`,
  });
  const words = worker?.freezing ? "freezing" : state;
  group.append(
    svg("rect", { class: "box", width: across, height, rx: 6 }),
    svg("use", { href: "#sign-worker", x: 10, y: 8, width: 16, height: 16 }),
    svg("text", { class: "box-name", x: 34, y: 21 }, name),
    svg(
      "text",
      { class: "box-state", x: across - 12, y: 21, "text-anchor": "end" },
      say(`lab.state.${words}`),
    ),
  );
  return group;
}

/** @param {Box} box */
function endBox({ x, y, width: across, height, status }) {
  const group = svg("g", {
    class: `state state-${status}`,
    transform: `translate(${x} ${y})`,
  });
  group.append(
    svg("rect", { class: "box", width: across, height, rx: 6 }),
    svg("use", { href: `#sign-${status}`, x: 10, y: 8, width: 16, height: 16 }),
    svg("text", { class: "box-name", x: 34, y: 21 }, say(`state.${status}`)),
    svg(
      "text",
      { class: "box-count", x: across - 12, y: 22, "text-anchor": "end" },
      whole(state?.counts[status] ?? 0),
    ),
  );
  return group;
}
