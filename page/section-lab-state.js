import { goalsAfter, noGoals } from "./section-lab-goals.js";

/**
 * What is known of the lab, from what its server tells: pure, nothing here asks or draws. A state is
 * never changed; `reduce` gives the next one.
 *
 * @import { Goals } from "./section-lab-goals.js"
 *
 * @typedef {"pending" | "processing" | "sent" | "failed" | "dead"} Status
 *
 * @typedef {object} Change one of an event `changes` of GET /api/queue/events
 * @property {number} seq
 * @property {number} written_by number of the transaction
 * @property {string} at
 * @property {"enqueue" | "claim" | "extend" | "settle" | "release" | "reap" | "refuse" | "retry"
 *   | "cancel" | "edit"} change
 * @property {number} delivery_id
 * @property {string} channel
 * @property {Status | null} from_status
 * @property {Status} to_status
 * @property {number} attempt that wrote
 * @property {number} current_attempt
 * @property {number} max_attempts
 * @property {string | null} holder
 * @property {string | null} lease_expires_at
 * @property {string} next_attempt_at
 * @property {string | null} [outcome]
 * @property {string | null} [error]
 * @property {string | null} [verdict]
 *
 * @typedef {object} Held one that an event `reset` tells of
 * @property {number} id
 * @property {string} channel
 * @property {number} attempt
 * @property {number} max_attempts
 * @property {string} holder
 * @property {string} attempted_at
 * @property {string} lease_expires_at
 *
 * @typedef {object} Listed one of GET /api/deliveries
 * @property {number} id
 * @property {Status} status
 * @property {number} attempts
 * @property {number} max_attempts
 * @property {string} next_attempt_at
 *
 * @typedef {object} LabWorker one of GET /api/lab/workers
 * @property {number} id
 * @property {string} name
 * @property {"worker" | "drain"} kind
 * @property {string} holder
 * @property {"starting" | "running" | "frozen" | "ended"} state
 * @property {boolean} freezing whether it is to be frozen in its next send
 * @property {number} sending
 * @property {string | null} ended_at
 * @property {number | null} exit_code
 *
 * @typedef {object} Row a delivery; times in ms since 1970 by the database's clock
 * @property {number} id
 * @property {Status} status
 * @property {number} attempt
 * @property {number} maxAttempts
 * @property {string | null} holder
 * @property {number} claimedAt 0 unless it is held
 * @property {number} leaseEnds 0 unless it is held
 * @property {number} nextAt when it is due
 * @property {number} turn counts up with every change in the lab: who changed last has the highest
 * @property {boolean} guessed known from a list and from no change yet
 *
 * @typedef {object} Line what happened, for the log: the same thing to several rows in a row is one,
 *   but each claim and each refusal stands for itself
 * @property {string} what
 * @property {number} transaction
 * @property {number} count
 * @property {number} row the first of them
 * @property {number} attempt
 * @property {number} current the row's own attempt, which differs where a late write was refused
 * @property {string | null} holder
 *
 * @typedef {object} LabState
 * @property {ReadonlyMap<number, Row>} rows all that have not ended, and the latest that have
 * @property {Readonly<Record<Status, number>>} counts of all rows that were seen
 * @property {readonly LabWorker[]} workers
 * @property {ReadonlyMap<string, number>} claims how many rows each holder has taken
 * @property {number} clock ms by which this page's clock is ahead of the database's, at most
 * @property {number} turn
 * @property {Goals} goals
 * @property {readonly Line[]} lines what the last event brought
 *
 * @typedef {{type: "reset", held: readonly Held[]}
 *   | {type: "changes", changes: readonly Change[], now: number}
 *   | {type: "listed", rows: readonly Listed[]}
 *   | {type: "workers", workers: readonly LabWorker[]}
 *   | {type: "batch", limit: number}} LabEvent `now` in ms since 1970 by this page's clock
 */

/** The only channel that the lab's workers know. */
export const CHANNEL = "lab";
/** So many rows that have ended are still known one by one. */
export const ENDED_KEPT = 60;

/** @type {ReadonlySet<Status>} */
const OPEN = new Set(/** @type {const} */ (["pending", "processing"]));

/** @returns {LabState} */
export function emptyLab() {
  return {
    rows: new Map(),
    counts: { pending: 0, processing: 0, sent: 0, failed: 0, dead: 0 },
    workers: [],
    claims: new Map(),
    clock: Number.POSITIVE_INFINITY,
    turn: 0,
    goals: noGoals(),
    lines: [],
  };
}

/**
 * @param {LabState} state
 * @param {LabEvent} event
 * @returns {LabState}
 */
export function reduce(state, event) {
  switch (event.type) {
    case "reset":
      return reset(state, event.held);
    case "changes":
      return changed(state, event.changes, event.now);
    case "listed":
      return listed(state, event.rows);
    case "workers": {
      const next = { ...state, workers: event.workers, lines: [] };
      return { ...next, goals: goalsAfter(next, undefined) };
    }
    case "batch":
      return { ...state, goals: { ...state.goals, limit: event.limit }, lines: [] };
  }
}

/**
 * What lay in between is not known: only what is held now counts. What had ended stays so, and the
 * reader keeps the goals.
 *
 * @param {LabState} state
 * @param {readonly Held[]} held
 */
function reset(state, held) {
  const rows = new Map([...state.rows].filter(([, { status }]) => !OPEN.has(status)));
  let { turn } = state;
  for (const one of held) {
    if (one.channel !== CHANNEL) continue;
    turn += 1;
    rows.set(one.id, {
      id: one.id,
      status: "processing",
      attempt: one.attempt,
      maxAttempts: one.max_attempts,
      holder: one.holder,
      claimedAt: Date.parse(one.attempted_at),
      leaseEnds: Date.parse(one.lease_expires_at),
      nextAt: 0,
      turn,
      guessed: false,
    });
  }
  const processing = held.filter(({ channel }) => channel === CHANNEL).length;
  return { ...state, rows, counts: { ...state.counts, pending: 0, processing }, turn, lines: [] };
}

/**
 * Rows that wait, as a list has them. What changes have told of them is newer.
 *
 * @param {LabState} state
 * @param {readonly Listed[]} found
 */
function listed(state, found) {
  const rows = new Map(state.rows);
  const counts = { ...state.counts };
  let { turn } = state;
  for (const one of found) {
    if (rows.has(one.id) || one.status !== "pending") continue;
    turn += 1;
    counts.pending += 1;
    rows.set(one.id, {
      id: one.id,
      status: "pending",
      attempt: one.attempts,
      maxAttempts: one.max_attempts,
      holder: null,
      claimedAt: 0,
      leaseEnds: 0,
      nextAt: Date.parse(one.next_attempt_at),
      turn,
      guessed: true,
    });
  }
  return { ...state, rows, counts, turn, lines: [] };
}

/**
 * @param {LabState} state
 * @param {readonly Change[]} changes
 * @param {number} now
 */
function changed(state, changes, now) {
  const rows = new Map(state.rows);
  const counts = { ...state.counts };
  const claims = new Map(state.claims);
  /** @type {Line[]} */
  const lines = [];
  let { turn, clock, goals } = state;
  for (const change of changes) {
    if (change.channel !== CHANNEL) continue;
    turn += 1;
    clock = Math.min(clock, now - Date.parse(change.at));
    const before = rows.get(change.delivery_id);
    if (change.change !== "refuse") {
      const from = before ? before.status : change.from_status;
      // One that was forgotten because it had ended is counted all the same.
      if (from && (before || !OPEN.has(from)) && counts[from] > 0) counts[from] -= 1;
      counts[change.to_status] += 1;
      rows.set(change.delivery_id, rowAfter(change, before, turn));
    }
    if (change.change === "claim" && change.holder) {
      claims.set(change.holder, (claims.get(change.holder) ?? 0) + 1);
    }
    note(lines, change);
    const at = { counts, claims, workers: state.workers, goals };
    goals = goalsAfter(at, { change, before });
  }
  forget(rows);
  return { ...state, rows, counts, claims, clock, turn, goals, lines };
}

/**
 * @param {Change} change
 * @param {Row | undefined} before
 * @param {number} turn
 * @returns {Row}
 */
function rowAfter(change, before, turn) {
  const held = change.to_status === "processing";
  const claimed = change.change === "claim" ? Date.parse(change.at) : (before?.claimedAt ?? 0);
  return {
    id: change.delivery_id,
    status: change.to_status,
    attempt: change.current_attempt,
    maxAttempts: change.max_attempts,
    holder: held ? change.holder : null,
    claimedAt: held ? claimed : 0,
    leaseEnds: held && change.lease_expires_at ? Date.parse(change.lease_expires_at) : 0,
    nextAt: Date.parse(change.next_attempt_at),
    turn,
    guessed: false,
  };
}

/**
 * Drops the rows that ended first, as many as there are too many.
 *
 * @param {Map<number, Row>} rows
 */
function forget(rows) {
  const ended = [...rows.values()].filter(({ status }) => !OPEN.has(status));
  if (ended.length <= ENDED_KEPT) return;
  ended.sort((one, other) => one.turn - other.turn);
  for (const { id } of ended.slice(0, ended.length - ENDED_KEPT)) rows.delete(id);
}

/**
 * Adds what happened to the lines, or to the last of them if it is the same again.
 *
 * @param {Line[]} lines
 * @param {Change} change
 */
function note(lines, change) {
  const what = whatOf(change);
  const last = lines.at(-1);
  const alike = last?.what === what && last.holder === change.holder && what !== "refuse";
  if (alike && (what !== "claim" || last.transaction === change.written_by)) {
    lines[lines.length - 1] = { ...last, count: last.count + 1 };
    return;
  }
  lines.push({
    what,
    transaction: change.written_by,
    count: 1,
    row: change.delivery_id,
    attempt: change.attempt,
    current: change.current_attempt,
    holder: change.holder,
  });
}

/** @param {Change} change */
function whatOf({ change, to_status, verdict }) {
  if (change === "settle") return verdict === "late" ? "settle-late" : `settle-${to_status}`;
  if (change === "reap") return `reap-${to_status}`;
  return change;
}
