/**
 * Where everything of the lab's figure stands, in CSS pixels. Pure: words and drawing are elsewhere.
 *
 * @import { LabState, LabWorker, Row, Status } from "./section-lab-state.js"
 *
 * @typedef {{row: Row, x: number, y: number, wide: number}} Mark `wide`: of its lease's bar; 0: none
 * @typedef {{x: number, y: number, width: number, height: number, name: string,
 *   worker: LabWorker | undefined}} Lane
 * @typedef {{x: number, y: number, width: number, height: number, status: Status}} Box
 * @typedef {object} Places
 * @property {number} height
 * @property {string[]} flows paths
 * @property {Lane[]} lanes
 * @property {Box[]} ends
 * @property {Mark[]} marks
 * @property {{x: number, y: number}} waiting where the words about what waits stand
 * @property {{x: number, y: number} | undefined} asleep where it says that there is no worker
 * @property {number} unseen rows that wait and have no mark
 */

const NARROW = 780;
const CELL = 19;
const MOST_WAITING = 60;
const LANE = 62;
const END = 56;
const GAP = 10;
const END_WIDTH = 214;
const PENDING_WIDTH = 10 * CELL;
/** Between the columns. */
const APART = 44;
/** Least width of a held row: its sign, its attempt, its lease. */
const SLOT = 44;
const ENDS = /** @type {const} */ (["sent", "failed", "dead"]);

/**
 * The name of a worker by its name in the queue, which has a random part at its end.
 *
 * @param {string} holder
 */
export const nameOf = (holder) => holder.replace(/-[0-9a-f]{8}$/, "");

/**
 * @param {LabState} state
 * @param {number} width
 * @returns {Places}
 */
export function placesFor(state, width) {
  const crews = crewsOf(state);
  const waiting = [...state.rows.values()]
    .filter(({ status }) => status === "pending")
    .sort((one, other) => one.nextAt - other.nextAt || one.id - other.id)
    .slice(0, MOST_WAITING);
  const unseen = state.counts.pending - waiting.length;
  return width < NARROW
    ? narrow(state, width, crews, waiting, unseen)
    : wide(state, width, crews, waiting, unseen);
}

/**
 * Who has a lane: workers that have not ended, and whoever still holds something.
 *
 * @param {LabState} state
 */
function crewsOf({ workers, rows }) {
  /** @type {Map<string, {name: string, worker: LabWorker | undefined, rows: Row[]}>} */
  const crews = new Map();
  const held = [...rows.values()].filter(({ status }) => status === "processing");
  for (const worker of workers) {
    if (worker.state !== "ended" || held.some(({ holder }) => holder === worker.holder)) {
      crews.set(worker.holder, { name: worker.name, worker, rows: [] });
    }
  }
  for (const row of held.sort((one, other) => one.id - other.id)) {
    const holder = row.holder ?? "";
    const crew = crews.get(holder) ?? { name: nameOf(holder), worker: undefined, rows: [] };
    crew.rows.push(row);
    crews.set(holder, crew);
  }
  return [...crews.values()];
}

/** @typedef {ReturnType<typeof crewsOf>} Crews */

/**
 * @param {LabState} state
 * @param {number} width
 * @param {Crews} crews
 * @param {Row[]} waiting
 * @param {number} unseen
 * @returns {Places}
 */
function wide(state, width, crews, waiting, unseen) {
  const lanes = Math.max(crews.length, 3);
  const height = Math.max(lanes * (LANE + GAP) - GAP, 7 * CELL + 24);
  const left = PENDING_WIDTH + APART;
  const right = width - END_WIDTH;
  const laneWidth = right - APART - left;
  const middle = height / 2;
  const lanesTop = middle - (crews.length * (LANE + GAP) - GAP) / 2;
  const endsTop = middle - (3 * (END + GAP) - GAP) / 2;
  const rows = Math.ceil(waiting.length / 10);
  const cellsTop = Math.max(24, middle - (rows * CELL) / 2);
  const laneMiddles = crews.map((_, index) => lanesTop + index * (LANE + GAP) + LANE / 2);
  const endMiddles = ENDS.map((_, index) => endsTop + index * (END + GAP) + END / 2);
  const joint = right - APART + 8;
  return {
    height,
    flows: [
      ...laneMiddles.map((y) => `M${left - APART + 8} ${middle}H${left - 18}V${y}H${left}`),
      ...laneMiddles.map((y) => `M${right - APART} ${y}H${joint}V${middle}`),
      ...(crews.length > 0
        ? endMiddles.map((y) => `M${joint} ${middle}H${right - 18}V${y}H${right}`)
        : []),
    ],
    ...columns(state, crews, waiting, {
      cells: { x: 0, y: cellsTop, across: 10 },
      lanes: { x: left, y: lanesTop, width: laneWidth },
      ends: { x: right, y: endsTop, width: END_WIDTH },
    }),
    waiting: { x: 0, y: waiting.length === 0 ? middle + 5 : cellsTop - 10 },
    asleep: crews.length === 0 ? { x: left, y: middle + 5 } : undefined,
    unseen,
  };
}

/**
 * @param {LabState} state
 * @param {number} width
 * @param {Crews} crews
 * @param {Row[]} waiting
 * @param {number} unseen
 * @returns {Places}
 */
function narrow(state, width, crews, waiting, unseen) {
  const across = Math.floor(width / CELL);
  const shown = waiting.slice(0, 2 * across);
  const cellsTop = 26;
  const lanesTop = cellsTop + Math.ceil(shown.length / across) * CELL + 18;
  const lanes = Math.max(crews.length, 1);
  const endsTop = lanesTop + lanes * (LANE + GAP) + 6;
  return {
    height: endsTop + 3 * (END + GAP),
    flows: [],
    ...columns(state, crews, shown, {
      cells: { x: 0, y: cellsTop, across },
      lanes: { x: 0, y: lanesTop, width },
      ends: { x: 0, y: endsTop, width },
    }),
    waiting: { x: 0, y: 16 },
    asleep: crews.length === 0 ? { x: 0, y: lanesTop + LANE / 2 } : undefined,
    unseen: unseen + waiting.length - shown.length,
  };
}

/**
 * @param {LabState} state
 * @param {Crews} crews
 * @param {Row[]} waiting
 * @param {{cells: {x: number, y: number, across: number},
 *   lanes: {x: number, y: number, width: number},
 *   ends: {x: number, y: number, width: number}}} at
 * @returns {Pick<Places, "lanes" | "ends" | "marks">}
 */
function columns(state, crews, waiting, at) {
  /** @type {Mark[]} */
  const marks = waiting.map((row, index) => ({
    row,
    x: at.cells.x + (index % at.cells.across) * CELL,
    y: at.cells.y + Math.floor(index / at.cells.across) * CELL,
    wide: 0,
  }));
  const lanes = crews.map(({ name, worker, rows }, index) => {
    const box = { ...at.lanes, y: at.lanes.y + index * (LANE + GAP), height: LANE };
    const slot = Math.max(SLOT, Math.min(80, (box.width - 20) / Math.max(1, rows.length)));
    const fits = Math.floor((box.width - 20) / slot);
    for (const [place, row] of rows.slice(0, fits).entries()) {
      marks.push({ row, x: box.x + 10 + place * slot, y: box.y + 32, wide: slot - 10 });
    }
    return { ...box, name, worker };
  });
  const ends = ENDS.map((status, index) => {
    const box = { ...at.ends, y: at.ends.y + index * (END + GAP), height: END, status };
    const latest = [...state.rows.values()]
      .filter((row) => row.status === status)
      .sort((one, other) => other.turn - one.turn)
      .slice(0, Math.floor((box.width - 20) / CELL));
    for (const [place, row] of latest.entries()) {
      marks.push({ row, x: box.x + 10 + place * CELL, y: box.y + 32, wide: 0 });
    }
    return box;
  });
  return { lanes, ends, marks };
}
