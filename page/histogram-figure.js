import { byId, find } from "./element.js";
import { percent, whole } from "./numbers.js";
import { svg } from "./svg.js";
import { say } from "./text.js";

/**
 * @import { HistogramResult } from "./histogram-result.js"
 */

const WIDTH = 512;
const HEIGHT = 160;
const CHANNELS = /** @type {const} */ (["r", "g", "b"]);

/**
 * The outline of one channel as an SVG path; heights go by the square root, or one peak would
 * flatten all the rest.
 *
 * @param {ArrayLike<number>} bins 256 counts
 * @param {number} highest the count at full height
 * @returns {string}
 */
export function outline(bins, highest) {
  let path = `M0 ${HEIGHT}`;
  for (let value = 0; value < 256; value += 1) {
    const y = HEIGHT - Math.sqrt((bins[value] ?? 0) / highest) * (HEIGHT - 4);
    path += `L${value * 2} ${y.toFixed(1)}L${value * 2 + 2} ${y.toFixed(1)}`;
  }
  return `${path}L${WIDTH} ${HEIGHT}Z`;
}

/**
 * The mean value of a channel.
 *
 * @param {ArrayLike<number>} bins 256 counts
 * @returns {number} 0 to 255
 */
export function meanValue(bins) {
  let sum = 0;
  let count = 0;
  for (let value = 0; value < 256; value += 1) {
    sum += value * (bins[value] ?? 0);
    count += bins[value] ?? 0;
  }
  return count === 0 ? 0 : sum / count;
}

/** @param {HistogramResult} result */
export function drawHistogram(result) {
  const highest = Math.max(1, ...CHANNELS.flatMap((channel) => Array.from(result.bins[channel])));
  byId("histogram", SVGSVGElement).replaceChildren(
    ...CHANNELS.map((channel) =>
      svg("path", {
        class: `channel channel-${channel}`,
        d: outline(result.bins[channel], highest),
      }),
    ),
  );
  byId("histogram-summary", HTMLElement).textContent = say("histogram.summary", {
    pixels: whole(result.counted.pixels),
    width: whole(result.counted.width),
    height: whole(result.counted.height),
    red: whole(meanValue(result.bins.r)),
    green: whole(meanValue(result.bins.g)),
    blue: whole(meanValue(result.bins.b)),
  });
  const details = byId("histogram-details", HTMLDetailsElement);
  // 256 rows that nobody asked for would cost a frame in the middle of a lesson about frames.
  details.ontoggle = () => details.open && fillTable(result);
  if (details.open) fillTable(result);
}

/** @param {HistogramResult} result */
function fillTable(result) {
  const body = find(byId("histogram-table", HTMLTableElement), "tbody", HTMLTableSectionElement);
  const rows = Array.from({ length: 256 }, (_, value) => {
    const row = document.createElement("tr");
    const head = document.createElement("th");
    head.scope = "row";
    head.textContent = String(value);
    row.append(head);
    for (const channel of CHANNELS) {
      row.insertCell().textContent = whole(result.bins[channel][value] ?? 0);
    }
    return row;
  });
  body.replaceChildren(...rows);
}

/** @param {HistogramResult} result */
export function drawPalette(result) {
  let x = 0;
  const sum = result.palette.reduce((all, { share }) => all + share, 0) || 1;
  byId("palette", SVGSVGElement).replaceChildren(
    ...result.palette.map(({ hex, share }) => {
      const width = (share / sum) * WIDTH;
      const swatch = svg("rect", {
        x: x.toFixed(2),
        y: 0,
        width: width.toFixed(2),
        height: 64,
        fill: hex,
      });
      x += width;
      return swatch;
    }),
  );
  const body = find(byId("palette-table", HTMLTableElement), "tbody", HTMLTableSectionElement);
  body.replaceChildren(
    ...result.palette.map(({ hex, share, count }) => {
      const row = document.createElement("tr");
      const head = document.createElement("th");
      head.scope = "row";
      const swatch = svg("svg", { class: "swatch", viewBox: "0 0 16 16", "aria-hidden": "true" });
      swatch.append(svg("rect", { width: 16, height: 16, rx: 3, fill: hex }));
      head.append(swatch, ` ${hex}`);
      row.append(head);
      row.insertCell().textContent = percent(share);
      row.insertCell().textContent = whole(count);
      return row;
    }),
  );
}
