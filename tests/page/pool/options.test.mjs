/** The limits of a pool: what they are unless given, and what is refused. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { amount, defaultSize, limitsOf, listener, size } from "./core.mjs";

const NEVER = Number.POSITIVE_INFINITY;

test("limits that are not given have sensible values", () => {
  assert.deepEqual(limitsOf({ size: 2 }), {
    size: 2,
    maxQueue: 1000,
    bootTimeout: 120_000,
    taskTimeout: NEVER,
    graceMs: 500,
    maxTasksPerWorker: NEVER,
    bootAttempts: 3,
    bootPause: 250,
  });
});

test("limits that are given are taken", () => {
  const given = {
    size: 3,
    maxQueue: 0,
    bootTimeout: 1,
    taskTimeout: 2,
    graceMs: 0,
    maxTasksPerWorker: 1,
    bootAttempts: 1,
    bootPause: 0,
  };
  assert.deepEqual(limitsOf(given), given);
});

const LEAST_ONE = ["size", "maxTasksPerWorker", "bootAttempts"];
const WHOLE = ["size", "bootAttempts"];
/** Without an end to these, a promise could wait for ever. */
const FINITE = ["bootTimeout", "graceMs", "bootPause"];
const ALL = Object.keys(limitsOf({ size: 1 }));

for (const name of ALL) {
  test(`${name} must be a number that makes sense`, () => {
    for (const value of ["2", 2n, true, {}]) {
      assert.throws(() => limitsOf({ size: 1, [name]: value }), TypeError, String(value));
    }
    const bad = [Number.NaN, -1, -NEVER];
    if (LEAST_ONE.includes(name)) bad.push(0);
    if (WHOLE.includes(name)) bad.push(1.5, NEVER);
    if (FINITE.includes(name)) bad.push(NEVER);
    for (const value of bad) {
      assert.throws(
        () => limitsOf({ size: 1, [name]: value }),
        (error) => error instanceof RangeError && error.message.startsWith(`${name} must be`),
        String(value),
      );
    }
  });
}

test("a size that is asked for later must be a whole number from 1 to 64", () => {
  assert.equal(size(4), 4);
  assert.equal(size(64), 64);
  for (const bad of [0, 1.5, 65, 2 ** 53]) assert.throws(() => size(bad), RangeError);
  assert.throws(() => size("2"), TypeError);
});

test("a listener is a function or not there", () => {
  listener("onEvent", undefined);
  listener("onEvent", () => {});
  for (const bad of [5, null, {}]) assert.throws(() => listener("onEvent", bad), TypeError);
});

test("a priority may be below zero, and a time may be for ever", () => {
  assert.equal(amount("priority", -5, -NEVER), -5);
  assert.equal(amount("timeout", NEVER), NEVER);
  assert.throws(() => amount("timeout", -1), RangeError);
  assert.throws(() => amount("priority", Number.NaN, -NEVER), RangeError);
});

for (const [cores, gigabytes, size] of [
  [1, 8, 1],
  [8, 2, 1],
  [2, 4, 2],
  [8, 4, 2],
  [4, 8, 2],
  [8, 8, 4],
  [64, 8, 4],
  [undefined, undefined, 2],
]) {
  test(`${cores} cores and ${gigabytes} GB are room for ${size} workers`, (context) => {
    const machine = { hardwareConcurrency: cores, deviceMemory: gigabytes };
    const own = Object.getOwnPropertyDescriptor(globalThis, "navigator");
    Object.defineProperty(globalThis, "navigator", { value: machine, configurable: true });
    context.after(() => {
      if (own) Object.defineProperty(globalThis, "navigator", own);
      else Reflect.deleteProperty(globalThis, "navigator");
    });
    assert.equal(defaultSize(), size);
    assert.equal(limitsOf({}).size, size);
  });
}
