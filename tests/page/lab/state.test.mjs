/** What the lab's state becomes, event by event, and when a goal counts as seen. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FULL_CLAIMS, GOALS, SHARE } from "../../../page/section-lab-goals.js";
import { nameOf, placesFor } from "../../../page/section-lab-places.js";
import { CHANNEL, ENDED_KEPT, emptyLab, reduce } from "../../../page/section-lab-state.js";

const T0 = Date.parse("2026-12-01T00:00:00Z");
const ONE = "lab-1-0123abcd";
const OTHER = "lab-2-0123abcd";
const JOB = "job-3-0123abcd";
const iso = (/** @type {number} */ ms) => new Date(T0 + ms).toISOString();

/** The parts of a change that a test does not speak of. */
function change(given) {
  return {
    seq: 1,
    written_by: 1,
    at: iso(0),
    change: "enqueue",
    delivery_id: 1,
    channel: CHANNEL,
    from_status: null,
    to_status: "pending",
    attempt: 0,
    current_attempt: given.attempt ?? 0,
    max_attempts: 5,
    holder: null,
    lease_expires_at: null,
    next_attempt_at: iso(0),
    outcome: null,
    code: null,
    error: null,
    verdict: null,
    ...given,
  };
}

const enqueued = (delivery_id) => change({ delivery_id });
const claimed = (delivery_id, holder, given = {}) =>
  change({
    change: "claim",
    delivery_id,
    holder,
    attempt: 1,
    from_status: "pending",
    to_status: "processing",
    lease_expires_at: iso(6000),
    ...given,
  });
const settled = (delivery_id, holder, to_status, given = {}) =>
  change({
    change: "settle",
    delivery_id,
    holder,
    attempt: 1,
    from_status: "processing",
    to_status,
    verdict: "applied",
    ...given,
  });
const reaped = (delivery_id, holder, given = {}) =>
  change({
    change: "reap",
    delivery_id,
    holder,
    attempt: 1,
    from_status: "processing",
    to_status: "pending",
    ...given,
  });
const worker = (id, holder, given = {}) => ({
  id,
  name: nameOf(holder),
  kind: "worker",
  holder,
  state: "running",
  freezing: false,
  sending: 0,
  ended_at: null,
  exit_code: null,
  ...given,
});

const many = (count, make) => Array.from({ length: count }, (_, index) => make(index + 1));

/** Plays events, each a change, a list of changes that come together, or any other event. */
function played(...events) {
  return events.reduce(
    (state, event) =>
      "type" in event
        ? reduce(state, event)
        : reduce(state, { type: "changes", changes: [event].flat(), now: T0 }),
    emptyLab(),
  );
}

test("a row goes through its life, and its count goes with it", () => {
  let state = played(enqueued(7));
  assert.deepEqual(state.counts, { pending: 1, processing: 0, sent: 0, failed: 0, dead: 0 });
  state = reduce(state, { type: "changes", changes: [claimed(7, ONE)], now: T0 });
  const row = state.rows.get(7);
  assert.deepEqual(
    [row.status, row.holder, row.attempt, row.leaseEnds],
    ["processing", ONE, 1, T0 + 6000],
  );
  assert.equal(state.claims.get(ONE), 1);
  state = reduce(state, { type: "changes", changes: [settled(7, ONE, "sent")], now: T0 });
  assert.deepEqual(state.counts, { pending: 0, processing: 0, sent: 1, failed: 0, dead: 0 });
  assert.equal(state.rows.get(7).holder, null);
});

test("what happens in other channels is not of the lab", () => {
  const state = played(change({ channel: "page" }), {
    type: "reset",
    held: [{ id: 1, channel: "page", attempted_at: iso(0), lease_expires_at: iso(1) }],
  });
  assert.equal(state.rows.size, 0);
  assert.equal(state.turn, 0);
});

test("a reset keeps what has ended and what was seen, and knows only what is held", () => {
  const held = [
    {
      id: 3,
      channel: CHANNEL,
      attempt: 2,
      max_attempts: 5,
      holder: OTHER,
      attempted_at: iso(0),
      lease_expires_at: iso(6000),
    },
  ];
  const state = played(
    [enqueued(1), enqueued(2), enqueued(3), claimed(1, ONE), settled(1, ONE, "sent")],
    { type: "reset", held },
  );
  assert.deepEqual([...state.rows.keys()], [1, 3]);
  assert.deepEqual(state.counts, { pending: 0, processing: 1, sent: 1, failed: 0, dead: 0 });
});

test("a list adds what waits, and is older than what changes have told", () => {
  const found = many(3, (id) => ({
    id,
    status: "pending",
    attempts: 0,
    max_attempts: 5,
    next_attempt_at: iso(0),
  }));
  const state = played(claimed(1, ONE), { type: "listed", rows: found }, claimed(2, OTHER));
  assert.equal(state.rows.get(1).status, "processing");
  assert.equal(state.rows.get(2).status, "processing");
  assert.deepEqual([state.counts.pending, state.counts.processing], [1, 2]);
  assert.equal(state.goals.twice, 0);
});

test("a claim that a list knew before the stream told it is not one too many", () => {
  const rows = [
    { id: 1, status: "pending", attempts: 1, max_attempts: 5, next_attempt_at: iso(0) },
  ];
  assert.equal(played({ type: "listed", rows }, claimed(1, ONE)).goals.twice, 0);
});

test("only the latest that have ended are still known, but all are counted", () => {
  const all = many(ENDED_KEPT + 20, (id) => [
    enqueued(id),
    claimed(id, ONE),
    settled(id, ONE, "sent"),
  ]);
  const state = played(...all.map((three) => three));
  assert.equal(state.rows.size, ENDED_KEPT);
  assert.equal(state.counts.sent, ENDED_KEPT + 20);
  assert.ok(!state.rows.has(1));
  const again = reduce(state, {
    type: "changes",
    changes: [change({ change: "retry", delivery_id: 1, from_status: "sent" })],
    now: T0,
  });
  assert.deepEqual([again.counts.sent, again.counts.pending], [ENDED_KEPT + 19, 1]);
});

test("the same thing to many rows is one line, a refusal always its own", () => {
  const refusal = (id) =>
    change({ change: "refuse", delivery_id: id, holder: ONE, attempt: 1, current_attempt: 2 });
  const state = played([
    ...many(3, enqueued),
    ...many(2, (id) => claimed(id, ONE)),
    claimed(3, OTHER),
    claimed(4, OTHER, { written_by: 2 }),
    refusal(8),
    refusal(9),
  ]);
  assert.deepEqual(
    state.lines.map(({ what, count, holder }) => [what, count, holder]),
    [
      ["enqueue", 3, null],
      ["claim", 2, ONE],
      ["claim", 1, OTHER],
      ["claim", 1, OTHER],
      ["refuse", 1, ONE],
      ["refuse", 1, ONE],
    ],
  );
  assert.deepEqual([state.lines[4].attempt, state.lines[4].current], [1, 2]);
});

test("two workers that share are seen, and a row that is given away twice is not let pass", () => {
  const of = (holder, from) => many(SHARE, (id) => claimed(from + id, holder));
  const rows = many(2 * SHARE, enqueued);
  assert.equal(played(rows, of(ONE, 0)).goals.shared, null);
  assert.deepEqual(played(rows, of(ONE, 0), of(OTHER, SHARE)).goals.shared, {
    holders: 2,
    claims: 2 * SHARE,
  });
  const stolen = played(rows, of(ONE, 0), of(OTHER, SHARE - 1)).goals;
  assert.deepEqual([stolen.shared, stolen.twice], [null, 1]);
});

test("a claim after a reap or a failure is none too many", () => {
  const state = played(
    [enqueued(1), claimed(1, ONE), reaped(1, ONE), claimed(1, OTHER, { attempt: 2 })],
    [settled(1, OTHER, "pending", { attempt: 2 }), claimed(1, ONE, { attempt: 3 })],
  );
  assert.equal(state.goals.twice, 0);
});

test("full claims are seen while more waits, and one that takes too many is not let pass", () => {
  const limit = 5;
  const rows = many(limit * FULL_CLAIMS + 1, enqueued);
  const claim = (number, size) =>
    many(size, (id) => claimed(number * limit + id, ONE, { written_by: 10 + number }));
  const claims = many(FULL_CLAIMS, (number) => claim(number - 1, limit)).flat();
  assert.equal(played(rows, claims).goals.batch, null, "the limit is not known");
  const known = { type: "batch", limit };
  assert.deepEqual(played(known, rows, claims).goals.batch, { most: limit, claims: FULL_CLAIMS });
  assert.deepEqual(
    played(known, rows, ...claims.map((one) => [one])).goals.batch,
    { most: limit, claims: FULL_CLAIMS },
    "a claim may be told in parts",
  );
  const greedy = played(known, rows, claim(0, limit + 1)).goals;
  assert.deepEqual([greedy.over, greedy.batch], [1, null]);
});

test("the row of a killed worker is seen to come back, whichever is known first", () => {
  const life = [enqueued(1), claimed(1, ONE), reaped(1, ONE, { at: iso(6100) })];
  const end = { state: "ended", exit_code: -9, ended_at: iso(900) };
  const ending = (given) => ({ type: "workers", workers: [worker(1, ONE, { ...end, ...given })] });
  const found = { row: 1, holder: ONE, ms: 6100 };
  assert.deepEqual(played(ending({}), life).goals.lease, found);
  assert.deepEqual(played(life, ending({})).goals.lease, found);
  assert.equal(played(life, ending({ exit_code: 0 })).goals.lease, null, "it went by itself");
  assert.equal(played(life, ending({ ended_at: iso(6200) })).goals.lease, null, "killed later");
  const frozen = { type: "workers", workers: [worker(1, ONE, { state: "frozen" })] };
  assert.equal(played(life, frozen).goals.lease, null);
});

test("a late write that was refused is seen with both numbers, and changes nothing", () => {
  const before = played(enqueued(1), claimed(1, OTHER, { attempt: 2 }));
  const refusal = change({
    change: "refuse",
    delivery_id: 1,
    holder: ONE,
    attempt: 1,
    current_attempt: 2,
    from_status: "processing",
    to_status: "processing",
    verdict: "refused",
  });
  const after = reduce(before, { type: "changes", changes: [refusal], now: T0 });
  assert.deepEqual(after.goals.fence, { row: 1, holder: ONE, attempt: 1, current: 2 });
  assert.deepEqual([after.rows, after.counts], [before.rows, before.counts]);
});

test("a row that used up its attempts is seen, whoever says so", () => {
  const attempt = { attempt: 5 };
  for (const end of [
    settled(1, ONE, "dead", attempt),
    reaped(1, ONE, { ...attempt, to_status: "dead" }),
  ]) {
    assert.deepEqual(played(claimed(1, ONE, attempt), end).goals.poison, { row: 1, attempts: 5 });
  }
});

test("a job that empties the queue counts only where no worker is", () => {
  const life = [enqueued(1), enqueued(2), claimed(1, JOB), claimed(2, JOB)];
  const end = [settled(1, JOB, "sent"), settled(2, JOB, "sent")];
  const job = worker(3, JOB, { kind: "drain" });
  const alone = { type: "workers", workers: [job] };
  assert.deepEqual(played(alone, life, end).goals.dormant, { rows: 2 });
  assert.deepEqual(played(life, end, alone).goals.dormant, { rows: 2 });
  assert.equal(played(alone, life, end.slice(0, 1)).goals.dormant, null, "one is left");
  const beside = { type: "workers", workers: [worker(1, ONE), job] };
  assert.equal(played(beside, life, end).goals.dormant, null);
  const byWorker = [settled(1, ONE, "sent"), settled(2, ONE, "sent")];
  assert.equal(played(beside, life, byWorker).goals.dormant, null);
});

const STATUSES = ["pending", "processing", "sent", "failed", "dead"];
const someChange = fc.record({
  change: fc.constantFrom(
    "enqueue",
    "claim",
    "extend",
    "settle",
    "release",
    "reap",
    "refuse",
    "retry",
  ),
  delivery_id: fc.integer({ min: 1, max: 90 }),
  written_by: fc.integer({ min: 1, max: 9 }),
  to_status: fc.constantFrom(...STATUSES),
  from_status: fc.constantFrom(null, ...STATUSES),
  attempt: fc.integer({ min: 0, max: 6 }),
  holder: fc.constantFrom(null, ONE, OTHER, JOB),
  lease_expires_at: fc.constantFrom(null, iso(6000)),
});

test("whatever comes: counts fit the rows, nothing is changed in place, all has its place", () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(someChange, { maxLength: 40 }), { maxLength: 12 }),
      fc.integer({ min: 280, max: 1400 }),
      (pages, width) => {
        let state = reduce(emptyLab(), { type: "workers", workers: [worker(1, ONE)] });
        for (const page of pages) {
          const before = structuredClone(state);
          const next = reduce(state, { type: "changes", changes: page.map(change), now: T0 });
          assert.deepEqual(state, before);
          state = next;
        }
        for (const status of ["pending", "processing"]) {
          const rows = [...state.rows.values()].filter((row) => row.status === status);
          assert.equal(state.counts[status], rows.length);
        }
        const ended = [...state.rows.values()].filter(({ status }) => STATUSES.indexOf(status) > 1);
        assert.ok(ended.length <= ENDED_KEPT);
        const { marks, lanes, ends, height } = placesFor(state, width);
        assert.equal(new Set(marks.map(({ row }) => row.id)).size, marks.length);
        for (const { x, y, wide } of marks) {
          assert.ok(x >= 0 && x + Math.max(16, wide) <= width, `a mark stands at ${x} of ${width}`);
          assert.ok(y >= 0 && y + 16 <= height);
        }
        for (const box of [...lanes, ...ends]) {
          assert.ok(box.width > 0 && box.y >= 0 && box.y + box.height <= height);
        }
      },
    ),
    { seed: 6, numRuns: 200 },
  );
});

test("there is one goal for each thing that can be seen", () => {
  const { goals } = emptyLab();
  for (const goal of GOALS) assert.equal(goals[goal], null);
});
