/** What the caller of a task gets to see for each way in which it can end. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { errors, TaskError } from "./core.mjs";

const { errorOf } = errors;
const remote = { name: "ValueError", message: "no such colour", traceback: "in line 1" };

/** Checks the class, the name, the fields, and that the message says something. */
function check(error, Class, fields) {
  assert.ok(error instanceof Class && error instanceof Error);
  assert.equal(error.name, Class.name);
  for (const [name, value] of Object.entries(fields)) assert.deepEqual(error[name], value, name);
  assert.ok(error.message.length > 20);
}

test("a full queue is a QueueFullError that says how full", () => {
  const error = errorOf("echo", { kind: "refused", why: "full", queued: 7, maxQueue: 7 });
  check(error, errors.QueueFullError, { queued: 7, maxQueue: 7 });
});

test("an unknown name is an UnknownTaskError with the names that are known", () => {
  const outcome = { kind: "refused", why: "unknown", task: "sqaure", known: ["square"] };
  check(errorOf("sqaure", outcome), errors.UnknownTaskError, {
    task: "sqaure",
    known: ["square"],
  });
});

test("a payload that cannot be cloned is the browser's own error", () => {
  const error = new DOMException("no", "DataCloneError");
  assert.equal(errorOf("echo", { kind: "refused", why: "unsendable", error }), error);
});

test("a task that fails is a TaskError with the remote error's name, message and traceback", () => {
  const error = errorOf("echo", { kind: "failed", error: remote });
  assert.ok(error instanceof TaskError);
  assert.equal(error.name, "ValueError");
  assert.equal(error.message, "no such colour");
  assert.equal(error.traceback, "in line 1");
});

for (const reason of [undefined, null, 0, "a string", new Error("mine")]) {
  test(`an abort is the signal's own reason: ${reason}`, () => {
    assert.equal(errorOf("echo", { kind: "aborted", reason }), reason);
  });
}

for (const ended of ["waiting", "interrupted", "finished", "terminated"]) {
  test(`a time-out is a TaskTimeoutError that says how the task ended: ${ended}`, () => {
    const error = errorOf("echo", { kind: "timedOut", limit: "timeout", ms: 50, ended });
    check(error, errors.TaskTimeoutError, { task: "echo", limit: "timeout", ms: 50, ended });
    assert.match(error.message, /50 ms/);
    assert.doesNotMatch(error.message, /undefined/);
  });
}

test("a crash is a WorkerCrashedError with what the worker died of", () => {
  const error = errorOf("echo", { kind: "crashed", worker: 3, task: "echo", error: remote });
  check(error, errors.WorkerCrashedError, { worker: 3, task: "echo" });
  assert.ok(error.cause instanceof TaskError);
  assert.equal(error.cause.name, "ValueError");
});

test("a pool that is destroyed is a PoolClosedError with the reason as its cause", () => {
  const reason = { sign: "mine" };
  const error = errorOf("echo", { kind: "closed", reason });
  check(error, errors.PoolClosedError, {});
  assert.equal(error.cause, reason);
  assert.equal("cause" in errorOf("echo", { kind: "closed" }), false);
});

test("a boot that never works is a BootError with what the last attempt failed of", () => {
  const error = errorOf("echo", { kind: "unbootable", attempts: 3, error: remote });
  check(error, errors.BootError, { attempts: 3 });
  assert.equal(error.cause.message, "no such colour");
});
