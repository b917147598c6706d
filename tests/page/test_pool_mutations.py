"""The tests of the pool's rules fail when a rule is broken: each of these breaks is noticed."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.page.pool.in_node import FOLDER, run_in_node

PAGE = Path(__file__).parent.parent.parent / "page"

SEQUENCES = 1500
"""Random sequences against each break: the first that shows it is enough."""


@dataclass(frozen=True)
class Break:
    """Something that a change of the rules could get wrong."""

    name: str
    module: str
    find: str
    replace: str


BREAKS = [
    # Every task settles exactly once.
    Break(
        "a crash settles a task that an abort has settled",
        "pool-core.js",
        'if (slot.task && slot.status === "busy") {\n      this.settle(slot.task, { kind: "cr',
        'if (slot.task) {\n      this.settle(slot.task, { kind: "cr',
    ),
    Break(
        "a second abort settles again",
        "pool-core.js",
        'if (!slot?.task || (slot.status === "stopping" && !slot.verdict)) return;',
        "if (!slot?.task) return;",
    ),
    Break(
        "an abort is lost while a time-out stops the task",
        "pool-core.js",
        'if (!slot?.task || (slot.status === "stopping" && !slot.verdict)) return;',
        'if (!slot?.task || slot.status === "stopping") return;',
    ),
    Break(
        "the time-out is forgotten while the task stops",
        "pool-core.js",
        'slot.verdict = { kind: "timedOut", limit, ms, ended: "terminated" };',
        "",
    ),
    Break(
        "destroy forgets what waits",
        "pool-moves.js",
        "for (const task of pool.queue) this.settle(task, end);",
        "",
    ),
    Break(
        "destroy forgets what runs",
        "pool-moves.js",
        'if (slot.task && slot.status === "busy") this.settle(slot.task, end);',
        "",
    ),
    Break(
        "destroy forgets what is being stopped",
        "pool-moves.js",
        'this.conclude(slot, "terminated");',
        "",
    ),
    Break(
        "destroy does nothing while the pool closes",
        "pool-core.js",
        'if (this.pool.phase !== "closed") this.shut({ kind: "closed", reason: event.reason });',
        'if (this.pool.phase === "open") this.shut({ kind: "closed", reason: event.reason });',
    ),
    Break(
        "a late answer resolves a task that was given up",
        "pool-core.js",
        'if (slot.status === "busy") {\n      this.settle(slot.task, outcome);',
        'if (slot.status === "busy" || slot.verdict) {\n      this.settle(slot.task, outcome);',
    ),
    Break(
        "an answer settles whatever its worker has",
        "pool-core.js",
        "if (!slot?.task || slot.task.id !== id) {",
        "if (!slot?.task) {",
    ),
    Break(
        "interrupted and finished change places",
        "pool-core.js",
        'outcome.kind === "done" ? "finished" : "interrupted"',
        'outcome.kind === "done" ? "interrupted" : "finished"',
    ),
    # Workers get one task at a time, and only once they are ready.
    Break(
        "a worker that boots gets a task",
        "pool-core.js",
        '=> status === "ready" && !leaving;',
        '=> (status === "ready" || status === "starting") && !leaving;',
    ),
    Break(
        "a worker that is being stopped gets the next task",
        "pool-core.js",
        '=> status === "ready" && !leaving;',
        '=> (status === "ready" || status === "stopping") && !leaving;',
    ),
    Break(
        "a worker that says ready again is free",
        "pool-core.js",
        'if (slot?.status !== "starting") return;',
        "if (!slot) return;",
    ),
    Break(
        "a payload that cannot be cloned keeps its worker",
        "pool-core.js",
        '    this.free(slot);\n  }\n\n  /** @param {Extract<PoolEvent, {type: "ready"}>} event */',
        '  }\n\n  /** @param {Extract<PoolEvent, {type: "ready"}>} event */',
    ),
    Break(
        "a worker whose task was never sent is interrupted in its next",
        "pool-core.js",
        'this.effects.push({ type: "freed", worker, task, ended: "interrupted" });',
        "",
    ),
    Break(
        "a worker that should go gets another task",
        "pool-moves.js",
        'if (slot.leaving) {\n      this.end(slot, "resized");',
        'if (slot.leaving && slot.answered === 0) {\n      this.end(slot, "resized");',
    ),
    Break(
        "a smaller size ends a worker in the middle of its task",
        "pool-core.js",
        'if (!slot.task) this.end(slot, "resized");',
        'this.end(slot, "resized");',
    ),
    Break(
        "a smaller size ends the worker that is ready and keeps the one that boots",
        "pool-core.js",
        "starting: 2, ready: 3,",
        "starting: 3, ready: 2,",
    ),
    Break(
        "a worker lives one task longer than it may",
        "pool-moves.js",
        "slot.answered >= this.pool.limits.maxTasksPerWorker",
        "slot.answered > this.pool.limits.maxTasksPerWorker",
    ),
    # The queue is in order, and bounded.
    Break(
        "the last comes first",
        "pool-queue.js",
        "this.#tasks[at - 1].priority < task.priority",
        "this.#tasks[at - 1].priority <= task.priority",
    ),
    Break(
        "a queue that came from another changes that one",
        "pool-queue.js",
        "if (at === this.#tasks.length && (",
        "if (at === this.#to && (",
    ),
    Break(
        "a task that left the queue is still waited for",
        "pool-queue.js",
        "task.deadline > this.soonest || task.deadline === NEVER ? this.soonest : undefined",
        "this.soonest",
    ),
    Break(
        "a queue without its first task forgets what was added elsewhere",
        "pool-queue.js",
        "if (task === this.first && this.#to === this.#tasks.length) {",
        "if (task === this.first) {",
    ),
    Break(
        "one task too many may wait",
        "pool-core.js",
        "queue.length >= limits.maxQueue",
        "queue.length > limits.maxQueue",
    ),
    Break(
        "one task too few may wait",
        "pool-core.js",
        "queue.length >= limits.maxQueue",
        "queue.length + 1 >= limits.maxQueue",
    ),
    Break(
        "a full queue refuses a task for a free worker",
        "pool-core.js",
        " && !slots.some(isFree);",
        ";",
    ),
    Break(
        "a waiting task of an unknown name is posted",
        "pool-core.js",
        "for (const task of [...pool.queue].filter(({ name }) => !tasks.includes(name))) {",
        "for (const task of []) {",
    ),
    # Workers start one after another, and not for ever.
    Break(
        "all workers start at once",
        "pool-state.js",
        'if (slots.some(({ status }) => status === "starting")) return false;',
        "",
    ),
    Break(
        "a failed boot is tried again without a pause",
        "pool-moves.js",
        "slot.until = now + Math.min(bootPause * 4 ** (failures - 1), LONGEST_PAUSE);",
        "slot.until = now;",
    ),
    Break(
        "the pauses do not grow",
        "pool-moves.js",
        "bootPause * 4 ** (failures - 1)",
        "bootPause",
    ),
    Break(
        "workers that die as soon as they are ready are replaced for ever",
        "pool-core.js",
        "if (useless) {",
        "if (useless && slot.failures > 99) {",
    ),
    Break(
        "a place forgets its failures when a worker is ready",
        "pool-core.js",
        "    this.rest(slot);\n    pool.bootFailures = 0;",
        "    this.rest(slot);\n    slot.failures = 0;\n    pool.bootFailures = 0;",
    ),
    Break(
        "a pool forgets that a worker has been ready",
        "pool-core.js",
        "pool.bootFailures = 0;",
        "",
    ),
    Break(
        "a pool without hope says nothing",
        "pool-moves.js",
        "if (hopeless) {",
        "if (hopeless && pool.slots.length > 4) {",
    ),
    Break(
        "a pool tries once more than it may",
        "pool-moves.js",
        "pool.bootFailures >= bootAttempts",
        "pool.bootFailures > bootAttempts",
    ),
    Break(
        "a pool gives up although a worker lives",
        "pool-moves.js",
        "if (!pool.slots.some(isAlive)) pool.bootFailures += 1;",
        "pool.bootFailures += 1;",
    ),
    Break(
        "the last worker leaves, and nobody does what waits",
        "pool-core.js",
        "    this.#tryAnew();\n",
        "",
    ),
    Break(
        "a closing pool replaces workers for nothing",
        "pool-state.js",
        'phase === "closing" && queue.length > 0 && !slots.some(isAlive)',
        'phase === "closing" && !slots.some(isAlive)',
    ),
    Break(
        "a closing pool replaces no worker",
        "pool-state.js",
        '(phase === "closing" && queue.length > 0 && !slots.some(isAlive))',
        "false",
    ),
    # Time.
    Break(
        "a task is given up a moment too early",
        "pool-core.js",
        "if (slot.until > now) continue;",
        "if (slot.until > now + 1) continue;",
    ),
    Break(
        "the grace period never ends",
        "pool-moves.js",
        "slot.until = this.now + this.pool.limits.graceMs;",
        "slot.until = Number.POSITIVE_INFINITY;",
    ),
    Break(
        "a task may run for ever",
        "pool-core.js",
        "Math.min(now + pool.limits.taskTimeout, task.deadline)",
        "task.deadline",
    ),
    Break(
        "a standstill counts for tasks",
        "pool-core.js",
        "({ ...task, deadline: task.deadline + away })",
        "task",
    ),
    Break(
        "a standstill counts for workers",
        "pool-core.js",
        "slot.until += away;",
        "",
    ),
    Break(
        "nobody looks when a waiting task's time is over",
        "pool-state.js",
        "let next = state.queue.soonest;",
        "let next = Number.POSITIVE_INFINITY;",
    ),
    Break(
        "the timer goes off again and again for a place that may not start yet",
        "pool-state.js",
        'if (status !== "empty" || starts) next',
        "next",
    ),
    Break(
        "nobody looks when a pause is over",
        "pool-state.js",
        'if (status !== "empty" || starts) next',
        'if (status !== "empty") next',
    ),
    # The rules are a function.
    Break(
        "a step changes the state before it",
        "pool-state.js",
        "slots: slots.map(copyOfSlot)",
        "slots: [...slots]",
    ),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The pool's modules, to be broken."""
    for module in (*PAGE.glob("pool*.js"), PAGE / "protocol.js"):
        shutil.copy(module, tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}', "utf-8")
    return tmp_path


FILES = ("cases.mjs", "queue.test.mjs", "rules.test.mjs")
LIKELIEST = {"pool-queue.js": "queue.test.mjs"}
"""Which file notices what is wrong with a module, where it is not the first of all."""


def complaint(folder: Path, *files: str) -> str | None:
    """Give the first failure with the modules of this folder, in a case or random sequences."""
    for file in files:
        run = run_in_node(
            FOLDER / file,
            POOL_FOLDER=f"{folder.as_uri()}/",
            POOL_SEQUENCES=str(SEQUENCES),
            POOL_SEED="1",
            POOL_SHRINK="no",
        )
        assert " tests " in run.stdout, f"the tests ran\n{run.stdout}"
        if run.returncode != 0:
            return run.stdout
    return None


@pytest.mark.parametrize("broken", BREAKS, ids=lambda broken: broken.name.replace(" ", "-"))
def test_a_break_is_noticed(broken: Break, folder: Path) -> None:
    """One of the cases that have a name finds it, or else random sequences do."""
    path = folder / broken.module
    code = path.read_text("utf-8")
    assert code.count(broken.find) == 1, "the break fits the code"
    path.write_text(code.replace(broken.find, broken.replace), "utf-8")
    files = sorted(FILES, key=lambda file: file != LIKELIEST.get(broken.module))
    assert complaint(folder, *files) is not None


def test_sound_rules_cause_no_complaint(folder: Path) -> None:
    """What notices the breaks has nothing to say of the modules as they are."""
    assert complaint(folder, *FILES) is None
