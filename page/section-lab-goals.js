/**
 * What the reader is to see happen in the lab, each found in what the server tells. Pure.
 *
 * @import { Change, LabState, Row } from "./section-lab-state.js"
 *
 * @typedef {object} Goals each is null until it was seen, then what was seen
 * @property {{holders: number, claims: number} | null} shared two workers took rows side by side,
 *   none of them twice
 * @property {{row: number, holder: string, ms: number} | null} lease what a killed worker held came
 *   back, `ms` after it was taken
 * @property {{row: number, holder: string, attempt: number, current: number} | null} fence a late
 *   write was refused
 * @property {{row: number, attempts: number} | null} poison a row used up its attempts
 * @property {{most: number, claims: number} | null} batch full claims while more was waiting
 * @property {{rows: number} | null} dormant a job emptied the queue while no worker was there
 * @property {number} twice claims of a row that somebody held: must stay 0
 * @property {number} over claims above their limit: must stay 0
 * @property {number} limit rows a claim may take; 0 while that is not known
 * @property {Claim} claim the claim that was told last
 * @property {number} full claims that took as many as they may while more was waiting
 * @property {ReadonlyMap<string, {row: number, ms: number, at: number}>} reaped what each holder lost
 *   last, and when, in ms since 1970
 * @property {ReadonlyMap<string, number>} drained rows that each job has sent
 *
 * @typedef {{transaction: number, rows: number}} Claim a claim is told row by row
 *
 * @typedef {Pick<LabState, "counts" | "claims" | "workers" | "goals">} Known
 */

/** The goals, in the order in which a reader may best reach them. */
export const GOALS = /** @type {const} */ ([
  "shared",
  "batch",
  "lease",
  "fence",
  "poison",
  "dormant",
]);

/** So many rows each of two workers must have taken. */
export const SHARE = 5;
/** So many full claims are needed. */
export const FULL_CLAIMS = 3;
/** What a process that was killed (SIGKILL) leaves as its exit code. */
const KILLED = -9;

/** @returns {Goals} */
export function noGoals() {
  return {
    shared: null,
    lease: null,
    fence: null,
    poison: null,
    batch: null,
    dormant: null,
    twice: 0,
    over: 0,
    limit: 0,
    claim: { transaction: 0, rows: 0 },
    full: 0,
    reaped: new Map(),
    drained: new Map(),
  };
}

/**
 * The goals after one change, or after the workers have changed. `before` is the row as it was.
 *
 * @param {Known} known with the change in it
 * @param {{change: Change, before: Row | undefined} | undefined} news
 * @returns {Goals}
 */
export function goalsAfter(known, news) {
  let { goals } = known;
  if (news) {
    const { change, before } = news;
    if (change.change === "claim") goals = afterClaim(known, change, before);
    else if (change.change === "reap") goals = afterReap(goals, change, before);
    else if (change.change === "refuse") goals = afterRefusal(goals, change);
    else if (change.change === "settle") goals = afterSettle(goals, change, known);
    if (change.to_status === "dead" && change.change !== "refuse" && !goals.poison) {
      goals = { ...goals, poison: { row: change.delivery_id, attempts: change.current_attempt } };
    }
  }
  return afterAll({ ...known, goals });
}

/**
 * @param {Known} known
 * @param {Change} change
 * @param {Row | undefined} before
 * @returns {Goals}
 */
function afterClaim({ goals, counts }, change, before) {
  const held = before !== undefined && !before.guessed;
  const again = held && (before.status === "processing" || before.attempt >= change.attempt);
  const same = goals.claim.transaction === change.written_by;
  const claim = { transaction: change.written_by, rows: same ? goals.claim.rows + 1 : 1 };
  const { limit } = goals;
  const isFull = limit > 0 && claim.rows === limit && counts.pending > 0;
  return {
    ...goals,
    claim,
    twice: goals.twice + (again ? 1 : 0),
    full: goals.full + (isFull ? 1 : 0),
    over: goals.over + (limit > 0 && claim.rows === limit + 1 ? 1 : 0),
  };
}

/**
 * @param {Goals} goals
 * @param {Change} change
 * @param {Row | undefined} before
 * @returns {Goals}
 */
function afterReap(goals, change, before) {
  const holder = change.holder ?? before?.holder;
  if (!holder) return goals;
  const at = Date.parse(change.at);
  const ms = before?.claimedAt ? at - before.claimedAt : 0;
  const reaped = new Map(goals.reaped).set(holder, { row: change.delivery_id, ms, at });
  return { ...goals, reaped };
}

/**
 * @param {Goals} goals
 * @param {Change} change
 * @returns {Goals}
 */
function afterRefusal(goals, { delivery_id, holder, attempt, current_attempt }) {
  if (goals.fence) return goals;
  const fence = { row: delivery_id, holder: holder ?? "", attempt, current: current_attempt };
  return { ...goals, fence };
}

/**
 * @param {Goals} goals
 * @param {Change} change
 * @param {Known} known
 * @returns {Goals}
 */
function afterSettle(goals, { to_status, holder }, { workers }) {
  if (to_status !== "sent" || !holder) return goals;
  // Whether it was a job may be known only later, so all are counted that are not known as workers.
  if (workers.some((one) => one.holder === holder && one.kind === "worker")) return goals;
  const drained = new Map(goals.drained).set(holder, (goals.drained.get(holder) ?? 0) + 1);
  return { ...goals, drained };
}

/**
 * What follows from everything together.
 *
 * @param {Known} known
 * @returns {Goals}
 */
function afterAll({ goals, counts, claims, workers }) {
  let next = goals;
  const sharing = [...claims.values()].filter((rows) => rows >= SHARE);
  if (!next.shared && sharing.length > 1 && goals.twice === 0) {
    const taken = sharing.reduce((sum, rows) => sum + rows, 0);
    next = { ...next, shared: { holders: sharing.length, claims: taken } };
  }
  if (!next.batch && goals.full >= FULL_CLAIMS && goals.over === 0) {
    next = { ...next, batch: { most: goals.limit, claims: goals.full } };
  }
  if (!next.lease) {
    // Who was frozen when it lost a row, and killed later, does not count.
    const killed = workers.find(
      ({ holder, exit_code, ended_at }) =>
        exit_code === KILLED && Date.parse(ended_at ?? "") <= (goals.reaped.get(holder)?.at ?? 0),
    );
    const found = killed && goals.reaped.get(killed.holder);
    if (killed && found) {
      next = { ...next, lease: { holder: killed.holder, row: found.row, ms: found.ms } };
    }
  }
  if (!next.dormant && counts.pending === 0 && counts.processing === 0) {
    const isEmpty = workers.every(({ kind, state }) => kind === "drain" || state === "ended");
    const job = workers.find(({ kind, holder }) => kind === "drain" && goals.drained.has(holder));
    if (isEmpty && job) next = { ...next, dormant: { rows: goals.drained.get(job.holder) ?? 0 } };
  }
  return next;
}
